import { z } from 'zod';
import { byPassword, type Means } from '../factors/second-factors.ts';
import type { Seal } from '../keys/seal.ts';
import type { Account } from '../users/record/account.ts';
import { noticeType } from '../users/record/notice.ts';

/** Lifetimes of the forms in seconds: choosing a password takes time. */
const secondsOf = { factor: 300, notices: 600, newFactor: 300, codes: 300, newPassword: 600 };
/** Step of a login after the password. */
export type StepName = keyof typeof secondsOf;

/** Proofs of a user at the login page so far, and the next form. */
const progressSchema = z.object({
  /** Visit in which the proofs are valid. */
  interaction: z.string(),
  step: z.enum(['factor', 'notices', 'newFactor', 'codes', 'newPassword']),
  email: z.string(),
  name: z.string(),
  uid: z.string(),
  /** Value in the record when the password was given: a later password change invalidates the progress. */
  sessionsNotBefore: z.number().exactOptional(),
  passwordChangedAt: z.string(),
  amr: z.array(z.string()),
  acr: z.string(),
  /** A factor that was set up in this visit is not required in it. */
  hasSetUp: z.literal(true).exactOptional(),
  /** Notices in the record when the password was given, without those that this visit causes. */
  notices: z.array(z.object({ type: noticeType, time: z.string() })).exactOptional(),
  /** Secret of the app that is being set up. */
  secret: z.string().exactOptional(),
  /** Unix seconds. */
  exp: z.number(),
});
export type Progress = Readonly<z.output<typeof progressSchema>>;

/**
 * Seals the previous proofs into each form, so that users do not type them again, no page contains them, and no step can be skipped: only
 * the previous step issues the form of a later step.
 */
export class LoginProgress {
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor(seal: Seal, now: () => Date) {
    this.#seal = seal;
    this.#now = now;
  }

  /** Begins after the correct password, or a passkey in its place. */
  begin(interaction: string, account: Account, passwordChangedAt: string, means = byPassword): Progress {
    const { name, uid, email, sessionsNotBefore, notices } = account;
    const since = sessionsNotBefore !== undefined && { sessionsNotBefore };
    const told = notices !== undefined && { notices: [...notices] };
    return { interaction, step: 'factor', email, name, uid, ...since, passwordChangedAt, ...copyOf(means), ...told, exp: 0 };
  }

  /** @returns the sealed progress for the form of the step; @throws StatusError 503 while there is no key */
  seal(progress: Progress, step: StepName): string {
    const exp = Math.floor(this.#now().getTime() / 1000) + secondsOf[step];
    return this.#seal.seal(JSON.stringify({ ...progress, step, exp }));
  }

  /** Opens a sealed progress; undefined for another visit, or after expiry. @throws StatusError 503 while there is no key */
  async open(sealed: string, interaction: string): Promise<Progress | undefined> {
    const text = await this.#seal.open(sealed);
    const progress = text === undefined ? undefined : progressSchema.safeParse(JSON.parse(text)).data;
    const isCurrent = progress?.interaction === interaction && this.#now().getTime() / 1000 < progress.exp;
    return isCurrent ? progress : undefined;
  }
}

export const proving = (progress: Progress, means: Means): Progress => ({ ...progress, ...copyOf(means) });

const copyOf = ({ amr, acr }: Means) => ({ amr: [...amr], acr });
