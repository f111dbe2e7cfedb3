import { hash, randomUUID } from 'node:crypto';
import { timestampOf } from '@atrium/kubernetes/clock.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import { type ResourceKind, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { boundedTime } from '@atrium/oidc-client/times.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import { z } from 'zod';
import { EndedLogins, type IssuerLogin, issuerLoginOf } from '../issuer/login.ts';
import type { Services } from '../services.ts';

/** Custom resource RevokedToken, defined in deploy/manifests. */
const revokedTokenResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'revokedtokens' };
export const revokedTokenKind: ResourceKind = { type: revokedTokenResource, kind: 'RevokedToken' };

/** `spec.kind` of a RevokedToken. */
type RevokedKind = 'Bearer' | 'Refresh' | 'Flow' | 'Subject' | 'Logout';

/**
 * Returns the object name for a text. The hash includes the kind, so that a text chosen by a caller cannot name an object of another kind.
 */
export const revokedTokenName = (kind: RevokedKind, text: string) => `rt-${hash('sha256', `${kind}\0${text}`).slice(0, 40)}`;

/** Minimum lifetime of a revocation of bearer tokens, even if all tokens seen so far expire sooner (docs/contract/resources.md). */
const leastBearerMs = 86_400_000;
/** Clock skew by which bearer tokens are accepted after their expiry. */
const leewayMs = 60_000;

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const spec = z.object({
  kind: z.enum(['Bearer', 'Refresh', 'Flow', 'Subject', 'Logout']),
  expiration: time,
  notBefore: time.optional(),
  session: z.string().optional(),
  endsLogins: z.boolean().optional(),
});

/** Cached part of a RevokedToken. Times are milliseconds since 1970. */
export interface RevokedTokenRow {
  readonly name: string;
  readonly uid: string;
  readonly kind: RevokedKind;
  readonly expiresAt: number;
  readonly notBefore: number | undefined;
  readonly session: string | undefined;
  /** True if logins end, too, and not only bearer tokens. */
  readonly endsLogins: boolean;
}

/** Issued bearer token, with the name of the RevokedToken that revokes it. Times are Unix seconds. */
export interface IssuedBearer {
  readonly name: string;
  readonly iat: number;
  readonly exp: number;
}

export const bearerRevocation = (token: string): string => revokedTokenName('Bearer', token);

/** Bearer tokens of one session at the issuer. */
export interface SessionBearers {
  /** Hash of the session at the issuer. */
  session: string;
  /** Bearer tokens issued earlier are no longer valid. In whole seconds. */
  notBefore: Date;
  /** Longest lifetime of a bearer token of that login. */
  longestLifeMs: number;
  /** Name of the User record. */
  user: string;
}

/** Facts that can end a login. */
export interface EndableLogin {
  /** Undefined for a Session object, whose login is sealed. */
  readonly id?: string | undefined;
  readonly issuerLogin: IssuerLogin | undefined;
  /** User name in Kubernetes; '' if it is unknown. */
  readonly subjectName: string;
  /** Time of the login, in Unix seconds. */
  readonly at: number;
}

/** Login whose tokens are no longer renewed. */
export interface EndedLogin {
  readonly id: string;
  /** End of the time in which the login could be renewed. */
  readonly expiresAt: Date;
  /** Name of the User record. */
  readonly user: string;
}

/** Content of a logout token. */
export interface IssuerLogout {
  /** Identifies the token, together with `jti`. */
  iss: string;
  jti: string;
  /** Hash of the session at the issuer, or of the user there. */
  session: string;
  /** Logins that began earlier have ended. In whole seconds. */
  notBefore: Date;
  /** Latest expiry of a login or token that began earlier. */
  expiresAt: Date;
}

interface Spec {
  expiration: Date;
  notBefore?: Date;
  session?: string;
  endsLogins?: true;
  user?: string;
}

/** Revokes tokens and logins before their expiry. Every replica watches the revocations. */
export class RevokedTokens {
  readonly #objects: ServiceResource;
  readonly #now: () => Date;
  /** Revocations that this replica knows. */
  readonly watch: WatchCache<RevokedTokenRow>;
  /** Logins whose bearer tokens are revoked. */
  readonly #endedBearers = new EndedLogins();
  /** Subset of the logins that the issuer has ended altogether. */
  readonly #endedLogins = new EndedLogins();

  constructor({ client, log, metrics, now }: Pick<Services, 'client' | 'log' | 'metrics' | 'now'>) {
    this.#objects = new ServiceResource(client, revokedTokenKind);
    this.#now = now;
    this.watch = new WatchCache<RevokedTokenRow>(
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
    this.watch.onChange((change) => {
      this.#endedBearers.record(change);
      if (change.old?.endsLogins || change.new?.endsLogins) this.#endedLogins.record(change);
    });
  }

  /** Reports whether a bearer token was revoked. */
  hasBearer(token: string): boolean {
    return this.watch.get(bearerRevocation(token))?.kind === 'Bearer';
  }

  /** Reports whether a login was ended here. Tokens of an ended login are not renewed. */
  hasLogin(id: string): boolean {
    return this.watch.get(revokedTokenName('Refresh', id))?.kind === 'Refresh';
  }

  /**
   * Reports whether the access of a user name in Kubernetes was revoked after the given time (milliseconds since 1970). A deleted user or
   * an unlinked account leaves such a revocation.
   */
  hasSubject(subjectName: string, beganAt: number): boolean {
    return beganAt < (this.watch.get(revokedTokenName('Subject', subjectName))?.notBefore ?? 0);
  }

  /** Reports whether the issuer has ended a login that began at that time (milliseconds since 1970). */
  hasEndedLogin(login: IssuerLogin, beganAt: number): boolean {
    return this.#endedLogins.has(login, beganAt);
  }

  /**
   * Reports whether a bearer token is no longer valid: it was revoked, a logout here or at the issuer has ended it, or the access of its
   * user has ended.
   */
  hasRevoked(token: string, claims: VerifiedClaims, subjectName: string): boolean {
    if (this.watch.size === 0) return false;
    const issuedAt = claims.iat * 1000;
    const [bearer, subject] = [bearerRevocation(token), revokedTokenName('Subject', subjectName)];
    if (this.watch.get(bearer)?.kind === 'Bearer' || issuedAt < (this.watch.get(subject)?.notBefore ?? 0)) return true;
    return !this.#endedBearers.isEmpty && this.#endedBearers.has(issuerLoginOf(claims), issuedAt);
  }

  /** Reports whether a login has ended: here, at the issuer, or with the access of its user. */
  hasEnded({ id, issuerLogin, subjectName, at }: EndableLogin): boolean {
    if (this.watch.size === 0) return false;
    const [login, subject] = [id === undefined ? '' : revokedTokenName('Refresh', id), revokedTokenName('Subject', subjectName)];
    const beganAt = at * 1000;
    const subjectEnd = subjectName === '' ? 0 : (this.watch.get(subject)?.notBefore ?? 0);
    if (beganAt < subjectEnd || this.watch.get(login)?.kind === 'Refresh') return true;
    return issuerLogin !== undefined && this.#endedLogins.has(issuerLogin, beganAt);
  }

  /** @param user name of the User record; @throws StatusError 503, 504 */
  async addBearer({ name, exp }: IssuedBearer, user: string, signal: AbortSignal): Promise<void> {
    await this.#create('Bearer', name, { expiration: this.#atLeast(exp * 1000 + leewayMs), user }, signal);
  }

  /** @throws StatusError 503, 504 */
  async addSessionBearers({ session, notBefore, longestLifeMs, user }: SessionBearers, signal: AbortSignal): Promise<void> {
    const expiration = this.#atLeast(notBefore.getTime() + longestLifeMs + leewayMs);
    await this.#create('Logout', revokedTokenName('Logout', randomUUID()), { session, notBefore, expiration, user }, signal);
  }

  /** @returns false if the login was ended before; @throws StatusError 503, 504 */
  addLogin({ id, expiresAt, user }: EndedLogin, signal: AbortSignal): Promise<boolean> {
    return this.#isCreated('Refresh', revokedTokenName('Refresh', id), { expiration: expiresAt, user }, signal);
  }

  /** Reports whether a `state` was used, as far as this replica knows. */
  isUsed(state: string): boolean {
    return this.watch.get(revokedTokenName('Flow', state))?.kind === 'Flow';
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
   * Claims something until it is released. An unreleased claim ends some minutes after `expiration`.
   *
   * @returns undefined if another request holds the claim, here or on another replica; otherwise a function that releases it
   * @throws StatusError 503, 504
   */
  async hold(what: string, expiration: Date, signal: AbortSignal): Promise<(() => Promise<void>) | undefined> {
    const held = await this.#create('Flow', revokedTokenName('Flow', what), { expiration }, signal);
    return held && (() => this.remove(held.metadata, neverAborts));
  }

  /**
   * Records that the issuer has ended a session, or all sessions of a user. The same write marks the logout token as used, so that a logout
   * takes effect completely, and once.
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

  /** Deletes an expired revocation, or a claim that is released. @throws StatusError 503, 504 */
  async remove({ name, uid }: Pick<RevokedTokenRow, 'name' | 'uid'>, signal: AbortSignal): Promise<void> {
    await this.#objects.remove(name, { preconditions: { uid }, signal });
  }

  #atLeast(expiresAt: number): Date {
    return new Date(Math.max(expiresAt, this.#now().getTime() + leastBearerMs));
  }

  async #isCreated(kind: RevokedKind, name: string, spec: Spec, signal: AbortSignal): Promise<boolean> {
    return (await this.#create(kind, name, spec, signal)) !== undefined;
  }

  /** @returns undefined if the object exists already */
  async #create(kind: RevokedKind, name: string, { expiration, notBefore, ...rest }: Spec, signal: AbortSignal) {
    const object = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'RevokedToken',
      metadata: { name },
      spec: { kind, expiration: wholeSeconds(expiration), ...(notBefore && { notBefore: wholeSeconds(notBefore) }), ...rest },
    };
    const created = await this.#objects.create(object, { signal });
    if (created === 'conflict') return undefined;
    // The revocation takes effect here before the answer, and on other replicas as soon as their watch delivers it.
    if (kind !== 'Flow') await this.watch.waitForWrite(created.metadata.resourceVersion, signal);
    return created;
  }
}

/** Rounds up, because a token may be valid until the end of the second of its expiry. */
const wholeSeconds = (time: Date) => timestampOf(boundedTime(Math.ceil(time.getTime() / 1000)));
