import { hash } from 'node:crypto';
import type { Change } from '@atrium/kubernetes/watch/watch-cache.ts';
import { z } from 'zod';

/**
 * Names of a login at the issuer: its session (`sid`), its user (`sub`), and the user with the time of the authentication (`auth`). The
 * values are hashes, which labels can hold and which a reader of objects cannot turn into a logout token.
 */
export interface IssuerLogin {
  readonly sid?: string | undefined;
  readonly sub?: string | undefined;
  readonly auth?: string | undefined;
}

const digits = z.string().regex(/^[0-9a-f]{40}$/);

/** Sealed form. */
export const issuerLoginSchema = z.object({ sid: digits.optional(), sub: digits.optional(), auth: digits.optional() });

interface NamingClaims {
  iss: string;
  sid?: unknown;
  sub?: string | undefined;
  auth_time?: unknown;
}

export const issuerLoginOf = ({ iss, sid, sub, auth_time: authTime }: NamingClaims): IssuerLogin => ({
  sid: typeof sid === 'string' && sid !== '' ? hashOf(iss, sid) : undefined,
  sub: sub === undefined ? undefined : hashOf(iss, sub),
  auth: sub !== undefined && Number.isSafeInteger(authTime) ? hashOf(iss, sub, String(authTime)) : undefined,
});

/** Returns the name that covers the bearer tokens of this login only; undefined if the issuer does not distinguish a user's logins. */
export const ownSession = ({ sid, auth }: IssuerLogin): string | undefined => sid ?? auth;

/** Returns the name that covers the logins of a user to which the issuer gave no `sid`. @param sub hash of the user */
export const sessionless = (sub: string): string => hashOf(sub, 'without sid');

const hashOf = (...parts: readonly string[]): string => hash('sha256', parts.join('\0')).slice(0, 40);

/** Record of a login that has ended. Times are milliseconds since 1970. */
interface EndOfLogin {
  readonly name: string;
  /** Hash of an `IssuerLogin`. */
  readonly session: string | undefined;
  readonly notBefore: number | undefined;
}

/** Index of the logins that have ended, from their records. */
export class EndedLogins {
  /** Times by hash and record: a login may be ended again before the first record is deleted. */
  readonly #ends = new Map<string, Map<string, number>>();

  record({ old, new: row }: Change<EndOfLogin>): void {
    if (old?.session !== undefined) this.#forget(old.session, old.name);
    if (row?.session === undefined || row.notBefore === undefined) return;
    const ends = this.#ends.get(row.session) ?? new Map<string, number>();
    this.#ends.set(row.session, ends.set(row.name, row.notBefore));
  }

  /** Reports whether no login has ended. */
  get isEmpty(): boolean {
    return this.#ends.size === 0;
  }

  /** Reports whether the login has ended after `beganAt`. */
  has({ sid, sub, auth }: IssuerLogin, beganAt: number): boolean {
    const unnamed = sid === undefined && sub !== undefined ? sessionless(sub) : undefined;
    return [sid, sub, auth, unnamed].some((session) => session !== undefined && beganAt < this.#endOf(session));
  }

  /** Returns the latest end. Logins from before that time have ended. */
  #endOf(session: string): number {
    const ends = this.#ends.get(session);
    return ends === undefined ? 0 : Math.max(...ends.values());
  }

  #forget(session: string, name: string): void {
    const ends = this.#ends.get(session);
    ends?.delete(name);
    if (ends?.size === 0) this.#ends.delete(session);
  }
}
