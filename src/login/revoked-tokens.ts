import type { Logger } from 'pino';
import { z } from 'zod';
import { revokedTokenName, revokedTokenResource } from '../accounts/revoked-subject.ts';
import type { Metrics } from '../http/metrics.ts';
import { serviceUnavailable } from '../http/status.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { isKubernetesObject, resourcePath } from '../kubernetes/resource.ts';
import { UpstreamError } from '../kubernetes/upstream-error.ts';
import { WatchCache } from '../kubernetes/watch-cache.ts';
import { EndedLogins, type IssuerLogin, issuerLoginOf } from './issuer-login.ts';
import type { VerifiedClaims } from './types.ts';

/** A refresh token that nobody has proven to be theirs is recorded only while there are fewer of them: anybody can make one up. */
const maxUnproven = 10_000;
const seenWithinMs = 2_000;
const firstListMs = 2_000;

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const spec = z.object({
  kind: z.enum(['Bearer', 'Refresh', 'Flow', 'Subject', 'Logout']),
  expiration: time,
  notBefore: time.optional(),
  session: z.string().optional(),
});

/** What is kept of a RevokedToken object; times in milliseconds since 1970. */
export interface RevokedTokenRow {
  readonly name: string;
  readonly uid: string;
  readonly kind: z.output<typeof spec>['kind'];
  readonly expiresAt: number;
  readonly notBefore: number | undefined;
  readonly session: string | undefined;
}

export interface RevokedTokensOptions {
  client: ServiceClient;
  log: Logger;
  metrics: Metrics;
}

interface Revocation {
  /** The token itself; only its hash is written. */
  token: string;
  /** Until when it would count. */
  expiresAt: Date;
  /** Name of the User record. */
  user?: string | undefined;
}

/** What a logout token says. */
interface IssuerLogout {
  /** Identifies the token: issuer and `jti`. */
  token: string;
  /** Hash of the session at the issuer, or of the user there. */
  session: string;
  /** What was issued before does not count; in whole seconds. */
  notBefore: Date;
  /** Until when something could count that was issued before. */
  expiresAt: Date;
}

/** What does not count any more although its own time is not over; every replica follows it. */
export class RevokedTokens {
  readonly #client: ServiceClient;
  readonly #log: Logger;
  readonly #cache: WatchCache<RevokedTokenRow>;
  readonly #endedLogins = new EndedLogins();

  constructor({ client, log, metrics }: RevokedTokensOptions) {
    this.#client = client;
    this.#log = log;
    this.#cache = new WatchCache<RevokedTokenRow>(
      { client, log, metrics },
      {
        name: 'revokedtokens',
        type: revokedTokenResource,
        keep: ({ metadata: { name, uid }, spec: given }) => {
          const { kind, expiration: expiresAt, notBefore, session } = spec.parse(given);
          return { name, uid, kind, expiresAt, notBefore, session };
        },
      },
    );
    this.#cache.onChange((change) => this.#endedLogins.record(change));
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

  values(): IterableIterator<RevokedTokenRow> {
    return this.#cache.values();
  }

  /**
   * To be awaited before `has` and `notBefore` are relied on.
   *
   * @throws StatusError 503 while it is not known what is revoked
   */
  async whenKnown(signal: AbortSignal): Promise<void> {
    // Where the resource is not installed nothing can have been revoked.
    if (this.#cache.isSynced || this.#cache.failure()?.startsWith('404')) return;
    try {
      await this.#cache.whenSynced(AbortSignal.any([signal, AbortSignal.timeout(firstListMs)]));
    } catch (cause) {
      signal.throwIfAborted();
      if (!this.#cache.failure()?.startsWith('404')) throw serviceUnavailable('kubernetes', { cause });
    }
  }

  /** Whether a bearer or refresh token was revoked. */
  has(token: string): boolean {
    const kind = this.#cache.get(revokedTokenName(token))?.kind;
    return kind === 'Bearer' || kind === 'Refresh';
  }

  /** Whether what began at that time (milliseconds since 1970) under a user name of Kubernetes is revoked, because that user was deleted since. */
  hasSubject(subjectName: string, beganAt: number): boolean {
    const notBefore = this.#cache.get(revokedTokenName(subjectName))?.notBefore;
    return notBefore !== undefined && beganAt < notBefore;
  }

  /** Whether the issuer has ended a log-in of which something began at that time (milliseconds since 1970). */
  hasEnded({ sid, sub }: IssuerLogin, beganAt: number): boolean {
    const isEnded = (session: string | undefined) => session !== undefined && beganAt < (this.#endedLogins.endOf(session) ?? 0);
    return isEnded(sid) || isEnded(sub);
  }

  /** The same by the claims of a token, which cost something to look at. */
  hasEndedLoginOf(claims: VerifiedClaims, beganAt: number): boolean {
    return !this.#endedLogins.isEmpty && this.hasEnded(issuerLoginOf(claims), beganAt);
  }

  /** @throws StatusError 503, 504 */
  async revokeBearer(revocation: Revocation, signal: AbortSignal): Promise<void> {
    await this.#create('Bearer', revocation, signal);
  }

  /**
   * @param isProven whether the caller has proven to be somebody
   * @throws StatusError 503, 504
   */
  async revokeRefresh(revocation: Revocation, { isProven }: { isProven: boolean }, signal: AbortSignal): Promise<void> {
    if (isProven || this.#cache.size < maxUnproven) await this.#create('Refresh', revocation, signal);
    else this.#log.warn('a refresh token was not recorded as revoked: there are too many');
  }

  /** Whether a `state` was used, as far as this replica has heard. */
  isUsed(state: string): boolean {
    return this.#cache.get(revokedTokenName(state))?.kind === 'Flow';
  }

  /**
   * Records that a `state` was used.
   *
   * @returns false if it had been used before, here or on another replica
   * @throws StatusError 503, 504
   */
  useState(state: string, expiresAt: Date, signal: AbortSignal): Promise<boolean> {
    return this.#create('Flow', { token: state, expiresAt }, signal);
  }

  /**
   * Records that the issuer has ended a session or all of a user. In one write with that of the token that told: it is done whole, once.
   *
   * @returns false if the token had been used before, here or on another replica
   * @throws StatusError 503, 504
   */
  endLogin({ token, expiresAt, session, notBefore }: IssuerLogout, signal: AbortSignal): Promise<boolean> {
    return this.#create('Logout', { token, expiresAt, logout: { session, notBefore: wholeSeconds(notBefore) } }, signal);
  }

  /** Deletes one whose time is over. @throws StatusError 503, 504 */
  async remove({ name, uid }: RevokedTokenRow, signal: AbortSignal): Promise<void> {
    const path = resourcePath(revokedTokenResource, { name });
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
    try {
      await this.#client.request({ method: 'DELETE', path, body, call: 'delete revokedtokens', signal });
    } catch (error) {
      if (!(error instanceof UpstreamError && [404, 409].includes(error.status.code))) throw error;
    }
  }

  /** @returns false if it was there already */
  async #create(
    kind: RevokedTokenRow['kind'],
    { token, expiresAt, user, logout }: Revocation & { logout?: { session: string; notBefore: string } },
    signal: AbortSignal,
  ): Promise<boolean> {
    const body = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'RevokedToken',
      metadata: { name: revokedTokenName(token) },
      spec: { kind, expiration: wholeSeconds(expiresAt), ...(user !== undefined && { user }), ...logout },
    };
    const path = resourcePath(revokedTokenResource);
    let created: unknown;
    try {
      created = await this.#client.request({ method: 'POST', path, body, call: 'create revokedtokens', signal });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      if (error.status.code === 409) return false;
      throw serviceUnavailable('kubernetes', { cause: error });
    }
    // From the answer on it counts here; elsewhere as soon as the watch tells.
    if (kind !== 'Flow' && isKubernetesObject(created)) await this.#cache.waitFor(created.metadata.resourceVersion, seenWithinMs, signal);
    return true;
  }
}

/** A token may count until the end of the second that its end lies in. */
const wholeSeconds = (time: Date) => new Date(Math.ceil(time.getTime() / 1000) * 1000).toISOString().replace('.000Z', 'Z');
