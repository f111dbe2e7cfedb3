import { timingSafeEqual } from 'node:crypto';
import { CookieFamily } from '@atrium/http/cookies/cookies.ts';
import type { Seal } from '@atrium/http/seal.ts';
import { unauthorized } from '@atrium/objects/status.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { hasAcr } from '../step-up/step-up.ts';
import type { Subject } from '../users/record/account.ts';
import { otherSubject } from './callback-errors.ts';
import type { LoginQuery } from './schema.ts';

const stepUpSchema = z.object({
  /** Seconds. */
  maxAge: z.number().exactOptional(),
  acrValues: z.array(z.string()).exactOptional(),
  /** Issuer and subject of the login that asked for the step-up. */
  iss: z.string().exactOptional(),
  sub: z.string().exactOptional(),
});
type StepUp = Readonly<z.output<typeof stepUpSchema>>;

/** User to whom the flow links a further account. */
const linkingUserSchema = z.object({
  /** Name of the Session in which the flow began. */
  session: z.string(),
  user: z.string(),
  userUID: z.string(),
});
export type LinkingUser = Readonly<z.output<typeof linkingUserSchema>>;

/** State between the login request and the callback. A cookie holds it; the service stores nothing (docs/contract/login.md). */
export interface Flow {
  /** Issuer at which the flow began. */
  readonly iss: string;
  /** 256 random bits, like `nonce` and `verifier`. */
  readonly state: string;
  readonly nonce: string;
  /** PKCE (RFC 7636) */
  readonly verifier: string;
  readonly redirectURL: string;
  /** Path of the front-end. */
  readonly returnTo?: string;
  readonly tokenStorage: 'cookie' | 'local';
  /** Requirements that the callback verifies. */
  readonly stepUp?: StepUp;
  readonly link?: LinkingUser;
  /** Unix seconds. */
  readonly startedAt: number;
}

export const flowSeconds = 600;
/** Tolerates the clock skew of replicas, and of issuers. */
const leewaySeconds = 60;

const sealedFlow = z.object({
  iss: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  redirectURL: z.string(),
  returnTo: z.string().exactOptional(),
  tokenStorage: z.enum(['cookie', 'local']),
  stepUp: stepUpSchema.exactOptional(),
  link: linkingUserSchema.exactOptional(),
  startedAt: z.number(),
});

const writeFlow = (flow: Flow): string => JSON.stringify(flow);

/**
 * Parses a flow. The text is valid JSON, because only a replica can have sealed it.
 *
 * @returns undefined for a format of another release: the login must begin again
 */
const readFlow = (text: string): Flow | undefined => sealedFlow.safeParse(JSON.parse(text)).data;

/** Reports whether the flow has not expired. A flow from the future was begun with a wrong clock. */
function isCurrent({ startedAt }: Flow, now: Date): boolean {
  const age = now.getTime() / 1000 - startedAt;
  return age >= -leewaySeconds && age <= flowSeconds;
}

/** Returns the time from which every replica considers the flow expired. */
export const endOfFlow = ({ startedAt }: Flow): Date => new Date((startedAt + flowSeconds + 2 * leewaySeconds) * 1000);

const maxBytes = 6 * 1024;

/** Flow cookies of a browser: one for each flow, named by its state. */
export class FlowCookies {
  readonly #cookies: CookieFamily;
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor({ cookies, keyRing, now }: Pick<Services, 'cookies' | 'keyRing' | 'now'>) {
    this.#cookies = new CookieFamily(cookies, { purpose: 'flow', maxBytes });
    this.#seal = keyRing.sealFor('flow');
    this.#now = now;
  }

  /** @throws StatusError 503 while there is no key */
  set(ctx: Context, flow: Flow): void {
    this.#cookies.set(ctx, memberOf(flow.state), this.#seal.seal(writeFlow(flow)), flowSeconds);
  }

  /** Returns the flow of the state, if this browser began it and it has not expired. @throws StatusError 503 while there is no key */
  async find(ctx: Context, state: string): Promise<Flow | undefined> {
    const sealed = this.#cookies.find(ctx, memberOf(state));
    const text = sealed && (await this.#seal.open(sealed));
    const flow = text ? readFlow(text) : undefined;
    return flow !== undefined && isEqual(flow.state, state) && isCurrent(flow, this.#now()) ? flow : undefined;
  }

  expire(ctx: Context, state: string): void {
    this.#cookies.expire(ctx, memberOf(state));
  }
}

const memberOf = (state: string) => state.slice(0, 8);

/** Compares states in constant time. Lengths can differ, because another version may have sealed the flow. */
const isEqual = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** Returns the requirements of a step-up; undefined for any other login. @param current account that is logged in */
export function stepUpOf(
  { max_age, acr_values }: Pick<LoginQuery, 'max_age' | 'acr_values'>,
  current: Subject | undefined,
): StepUp | undefined {
  if (max_age === undefined && acr_values === undefined) return undefined;
  return {
    ...(max_age !== undefined && { maxAge: Number(max_age) }),
    ...(acr_values !== undefined && { acrValues: acr_values.split(' ').filter((value) => value !== '') }),
    ...(current && { iss: current.issuer, sub: current.sub }),
  };
}

/**
 * Verifies that a login meets the requirements of its step-up (RFC 9470), which issuers may ignore.
 *
 * @throws StatusError 401 `StepUpNotMet`, `SubjectDiffers`
 */
export function checkStepUp({ stepUp, startedAt }: Flow, { auth_time: authTime, acr, iss, sub }: VerifiedClaims, now: Date): void {
  if (stepUp === undefined) return;
  const { maxAge, acrValues = [] } = stepUp;
  if (stepUp.sub !== undefined && (stepUp.sub !== sub || (stepUp.iss ?? iss) !== iss)) throw otherSubject();
  const isTooOld = maxAge !== undefined && !(typeof authTime === 'number' && authTime >= startedAt - maxAge - leewaySeconds);
  const isAhead = typeof authTime === 'number' && authTime > now.getTime() / 1000 + leewaySeconds;
  const isTooWeak = acrValues.length > 0 && !(typeof acr === 'string' && hasAcr(acr, acrValues));
  if (isTooOld || isAhead || isTooWeak) throw stepUpNotMet();
}

/** Refuses a login that is older than its flow, according to its `auth_time`. @throws StatusError 401 `StepUpNotMet` */
export function requireNewLogin({ startedAt }: Flow, { auth_time: authTime }: VerifiedClaims): void {
  if (typeof authTime === 'number' && authTime < startedAt - leewaySeconds) throw stepUpNotMet();
}

function stepUpNotMet() {
  const message = 'the login at the identity provider is too old or too weak: log in again';
  return unauthorized({ tokenGiven: false, message, causes: [{ reason: 'StepUpNotMet', message }] });
}
