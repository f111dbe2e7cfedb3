import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { EndedLogins, type IssuerLogin, issuerLoginOf } from '../issuer/login.ts';
import type { VerifiedClaims } from '../issuer/types.ts';
import { unending } from '../kubernetes/abortable.ts';
import { ServiceResource } from '../kubernetes/resource-client.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import { listedWithinMs, seenWithinMs } from '../kubernetes/until.ts';
import { WatchCache, type WatchState } from '../kubernetes/watch-cache.ts';
import type { Services } from '../services.ts';
import type { SubjectAccess } from '../users/end-access.ts';
import { type RevokedKind, revokedTokenName, revokedTokenResource } from './subject-revocation.ts';

/** What ends bearer tokens holds for so long at least, however short the lives of tokens are that were seen (docs/contract/resources.md). */
const leastBearerMs = 86_400_000;
/** Bearer tokens are accepted that much longer than they say. */
const leewayMs = 60_000;

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const spec = z.object({
  kind: z.enum(['Bearer', 'Refresh', 'Flow', 'Subject', 'Logout']),
  expiration: time,
  notBefore: time.optional(),
  session: z.string().optional(),
  endsLogins: z.boolean().optional(),
});

/** What is kept of a RevokedToken object; times in milliseconds since 1970. */
export interface RevokedTokenRow {
  readonly name: string;
  readonly uid: string;
  readonly kind: RevokedKind;
  readonly expiresAt: number;
  readonly notBefore: number | undefined;
  readonly session: string | undefined;
  /** Whether logins end, and not bearer tokens alone. */
  readonly endsLogins: boolean;
}

/** A bearer token that was handed out, by the name of the RevokedToken that ends it. Times are unix seconds. */
export interface HandedOut {
  readonly name: string;
  readonly iat: number;
  readonly exp: number;
}

export const bearerRevocation = (token: string): string => revokedTokenName('Bearer', token);

/** Bearer tokens of one session at the issuer. */
export interface SessionBearers {
  /** Hash of the session at the issuer. */
  session: string;
  /** What was issued before does not count; in whole seconds. */
  notBefore: Date;
  /** The longest life of a bearer token of that login. */
  longestLifeMs: number;
  /** Name of the User record. */
  user: string;
}

/** A login whose tokens are not renewed any more. */
export interface EndedLogin {
  readonly id: string;
  /** Until when it could be renewed. */
  readonly expiresAt: Date;
  /** Name of the User record. */
  readonly user: string;
}

/** What a logout token says. */
export interface IssuerLogout {
  /** Identify the token. */
  iss: string;
  jti: string;
  /** Hash of the session at the issuer, or of the user there. */
  session: string;
  /** What began before does not count; in whole seconds. */
  notBefore: Date;
  /** Until when something could count that began before. */
  expiresAt: Date;
}

interface Spec {
  expiration: Date;
  notBefore?: Date;
  session?: string;
  endsLogins?: true;
  user?: string;
}

/** What does not count any more although its own time is not over; every replica follows it. */
export class RevokedTokens {
  readonly #objects: ServiceResource;
  readonly #now: () => Date;
  readonly #cache: WatchCache<RevokedTokenRow>;
  /** Whose bearer tokens have ended. */
  readonly #endedBearers = new EndedLogins();
  /** Those of them that have ended altogether, as the issuer has said so. */
  readonly #endedLogins = new EndedLogins();

  constructor({ client, log, metrics, now }: Pick<Services, 'client' | 'log' | 'metrics' | 'now'>) {
    this.#objects = new ServiceResource(client, { type: revokedTokenResource, kind: 'RevokedToken' });
    this.#now = now;
    this.#cache = new WatchCache<RevokedTokenRow>(
      { client, log, metrics },
      {
        name: 'revokedtokens',
        type: revokedTokenResource,
        keep: ({ metadata: { name, uid }, spec: given }) => {
          const { kind, expiration: expiresAt, notBefore, session, endsLogins = false } = spec.parse(given);
          return { name, uid, kind, expiresAt, notBefore, session, endsLogins };
        },
      },
    );
    this.#cache.onChange((change) => {
      this.#endedBearers.record(change);
      if (change.old?.endsLogins || change.new?.endsLogins) this.#endedLogins.record(change);
    });
  }

  start(): void {
    this.#cache.start();
  }

  stop(): Promise<void> {
    return this.#cache.stop();
  }

  /** Why they are not followed; undefined if they are. */
  failure(): string | undefined {
    return this.#cache.missing();
  }

  get state(): WatchState {
    return this.#cache.state;
  }

  /** Seconds since the API server was last heard of on their watch. */
  ageSeconds(): number {
    return this.#cache.ageSeconds();
  }

  values(): IterableIterator<RevokedTokenRow> {
    return this.#cache.values();
  }

  /**
   * To be awaited before anything that is asked here is relied on.
   *
   * @throws StatusError 503 while it is not known what is revoked
   */
  async whenKnown(signal: AbortSignal): Promise<void> {
    // Where the resource is not installed nothing can have been revoked.
    if (await this.#cache.until(() => this.#cache.state !== 'pending', listedWithinMs, signal)) return;
    signal.throwIfAborted();
    throw this.#cache.unavailable();
  }

  /** Whether a bearer token was revoked. */
  hasBearer(token: string): boolean {
    return this.#cache.size > 0 && this.#cache.get(bearerRevocation(token))?.kind === 'Bearer';
  }

  /** Whether a login was ended here: its tokens are not renewed any more. */
  hasLogin(id: string): boolean {
    return this.#cache.get(revokedTokenName('Refresh', id))?.kind === 'Refresh';
  }

  /** Whether what began at that time (milliseconds since 1970) under a user name of Kubernetes is revoked, because that user was deleted since. */
  hasSubject(subjectName: string, beganAt: number): boolean {
    const notBefore = this.#cache.get(revokedTokenName('Subject', subjectName))?.notBefore;
    return notBefore !== undefined && beganAt < notBefore;
  }

  /** Whether the issuer has ended a login that began at that time (milliseconds since 1970). */
  hasEndedLogin(login: IssuerLogin, beganAt: number): boolean {
    return this.#endedLogins.has(login, beganAt);
  }

  /** Whether bearer tokens with such claims that were issued at that time have ended, by a logout here or at the issuer. */
  hasEndedBearers(claims: VerifiedClaims, issuedAt: number): boolean {
    return !this.#endedBearers.isEmpty && this.#endedBearers.has(issuerLoginOf(claims), issuedAt);
  }

  /** @param user name of the User record; @throws StatusError 503, 504 */
  async addBearer({ name, exp }: HandedOut, user: string, signal: AbortSignal): Promise<void> {
    await this.#create('Bearer', name, { expiration: this.#atLeast(exp * 1000 + leewayMs), user }, signal);
  }

  /** @throws StatusError 503, 504 */
  async addSessionBearers({ session, notBefore, longestLifeMs, user }: SessionBearers, signal: AbortSignal): Promise<void> {
    const expiration = this.#atLeast(notBefore.getTime() + longestLifeMs + leewayMs);
    await this.#create('Logout', revokedTokenName('Logout', randomUUID()), { session, notBefore, expiration, user }, signal);
  }

  /** @returns false if it was ended before; @throws StatusError 503, 504 */
  addLogin({ id, expiresAt, user }: EndedLogin, signal: AbortSignal): Promise<boolean> {
    return this.#isCreated('Refresh', revokedTokenName('Refresh', id), { expiration: expiresAt, user }, signal);
  }

  /** Waits until this replica knows that the access of a user name has ended, or as long as a request waits for a watch. */
  async untilSubjectEnded({ subjectName, now }: SubjectAccess['subject'], signal: AbortSignal): Promise<void> {
    await this.#cache.until(() => this.hasSubject(subjectName, now.getTime()), seenWithinMs, signal);
  }

  /** Whether a `state` was used, as far as this replica has heard. */
  isUsed(state: string): boolean {
    return this.#cache.get(revokedTokenName('Flow', state))?.kind === 'Flow';
  }

  /**
   * Records that a `state` was used.
   *
   * @returns false if it had been used before, here or on another replica
   * @throws StatusError 503, 504
   */
  useState(state: string, expiration: Date, signal: AbortSignal): Promise<boolean> {
    return this.#isCreated('Flow', revokedTokenName('Flow', state), { expiration }, signal);
  }

  /**
   * Takes something for oneself until it is released, or, if it never is, until some minutes after that time.
   *
   * @returns undefined if another request has it, here or on another replica; else what releases it
   * @throws StatusError 503, 504
   */
  async hold(what: string, expiration: Date, signal: AbortSignal): Promise<(() => Promise<void>) | undefined> {
    const held = await this.#create('Flow', revokedTokenName('Flow', what), { expiration }, signal);
    return held && (() => this.remove(held.metadata, unending));
  }

  /**
   * Records that the issuer has ended a session or all of a user. In one write with that of the token that told: it is done whole, once.
   *
   * @returns false if the token had been used before, here or on another replica
   * @throws StatusError 503, 504
   */
  addIssuerLogout({ iss, jti, session, notBefore, expiresAt }: IssuerLogout, signal: AbortSignal): Promise<boolean> {
    const expiration = this.#atLeast(expiresAt.getTime());
    return this.#isCreated(
      'Logout',
      revokedTokenName('Logout', `${iss}\0${jti}`),
      { expiration, session, notBefore, endsLogins: true },
      signal,
    );
  }

  /** Deletes one whose time is over. @throws StatusError 503, 504 */
  async remove({ name, uid }: Pick<RevokedTokenRow, 'name' | 'uid'>, signal: AbortSignal): Promise<void> {
    await this.#objects.remove(name, { preconditions: { uid }, signal });
  }

  #atLeast(expiresAt: number): Date {
    return new Date(Math.max(expiresAt, this.#now().getTime() + leastBearerMs));
  }

  async #isCreated(kind: RevokedKind, name: string, spec: Spec, signal: AbortSignal): Promise<boolean> {
    return (await this.#create(kind, name, spec, signal)) !== undefined;
  }

  /** @returns undefined if it was there already */
  async #create(kind: RevokedKind, name: string, { expiration, notBefore, ...rest }: Spec, signal: AbortSignal) {
    const object = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'RevokedToken',
      metadata: { name },
      spec: { kind, expiration: wholeSeconds(expiration), ...(notBefore && { notBefore: wholeSeconds(notBefore) }), ...rest },
    };
    const created = await this.#objects.create(object, { signal });
    if (created === 'conflict') return undefined;
    // From the answer on it counts here; elsewhere as soon as the watch tells.
    if (kind !== 'Flow') await this.#cache.waitFor(created.metadata.resourceVersion, seenWithinMs, signal);
    return created;
  }
}

/** A token may count until the end of the second that its end lies in. */
const wholeSeconds = (time: Date) => timestamp(new Date(Math.ceil(time.getTime() / 1000) * 1000));
