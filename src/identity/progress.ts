import { z } from 'zod';
import { byPassword, type Means } from '../factors/second-factors.ts';
import type { Seal } from '../keys/seal.ts';
import type { Account } from '../users/record/account.ts';
import { noticeType } from '../users/record/notice.ts';

/** How long a form counts: choosing a password takes its time. */
const secondsOf = { factor: 300, enrol: 300, passkey: 300, codes: 300, notices: 600, password: 600 };
export type Step = keyof typeof secondsOf;

/** What a user at the login page has proved so far, and which form comes next. */
const progressSchema = z.object({
  /** The visit that it was proved in: in no other does it prove anything. */
  interaction: z.string(),
  step: z.enum(['factor', 'enrol', 'passkey', 'codes', 'notices', 'password']),
  email: z.string(),
  name: z.string(),
  uid: z.string(),
  /** Of the record when the password was given: a change of the password since then ends it. */
  sessionsNotBefore: z.number().exactOptional(),
  passwordChangedAt: z.string(),
  amr: z.array(z.string()),
  acr: z.string(),
  /** A factor that was set up in this visit is not asked in it. */
  hasSetUp: z.literal(true).exactOptional(),
  /** What is to be told: what stood in the record when the password was given, and nothing that comes of this visit. */
  notices: z.array(z.object({ type: noticeType, time: z.string() })).exactOptional(),
  /** Of an app that is being set up. */
  secret: z.string().exactOptional(),
  /** Unix seconds. */
  exp: z.number(),
});
export type Progress = Readonly<z.output<typeof progressSchema>>;

/**
 * Seals into each form what was proved before it, so that no user types it again, no page holds it, and no step can be left out: a form
 * of a later step is only to be had by the one before.
 */
export class LoginProgress {
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor(seal: Seal, now: () => Date) {
    this.#seal = seal;
    this.#now = now;
  }

  /** After the right password, or a passkey in the place of it. */
  begin(interaction: string, account: Account, passwordChangedAt: string, means = byPassword): Progress {
    const { name, uid, email, sessionsNotBefore, notices } = account;
    const since = sessionsNotBefore !== undefined && { sessionsNotBefore };
    const told = notices !== undefined && { notices: [...notices] };
    return { interaction, step: 'factor', email, name, uid, ...since, passwordChangedAt, ...copyOf(means), ...told, exp: 0 };
  }

  /** @returns what is put into the form of that step; @throws StatusError 503 while there is no key */
  seal(progress: Progress, step: Step): string {
    const exp = Math.floor(this.#now().getTime() / 1000) + secondsOf[step];
    return this.#seal.seal(JSON.stringify({ ...progress, step, exp }));
  }

  /** Undefined for what was sealed for another visit, or too long ago. @throws StatusError 503 while there is no key */
  async open(sealed: string, interaction: string): Promise<Progress | undefined> {
    const text = await this.#seal.open(sealed);
    const progress = text === undefined ? undefined : progressSchema.safeParse(JSON.parse(text)).data;
    const isCurrent = progress?.interaction === interaction && this.#now().getTime() / 1000 < progress.exp;
    return isCurrent ? progress : undefined;
  }
}

export const proving = (progress: Progress, means: Means): Progress => ({ ...progress, ...copyOf(means) });

const copyOf = ({ amr, acr }: Means) => ({ amr: [...amr], acr });
