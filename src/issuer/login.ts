import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Change } from '../kubernetes/watch-cache.ts';

/**
 * How the issuer names a login: its own session (`sid`), its user (`sub`), and the user with the time of the authentication (`auth`). As
 * hashes, which can stand in labels and which a reader of objects cannot turn into a logout token.
 */
export interface IssuerLogin {
  readonly sid?: string | undefined;
  readonly sub?: string | undefined;
  readonly auth?: string | undefined;
}

const digits = z.string().regex(/^[0-9a-f]{40}$/);

/** As it is sealed. */
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

/** What ends the bearer tokens of one login at the issuer, and of no other; undefined if the issuer tells the logins of a user not apart. */
export const ownSession = ({ sid, auth }: IssuerLogin): string | undefined => sid ?? auth;

const hashOf = (...parts: readonly string[]): string => hash('sha256', parts.join('\0')).slice(0, 40);

/** What a record says of a login that has ended. Times are milliseconds since 1970. */
interface EndOfLogin {
  readonly name: string;
  /** One of the hashes of an `IssuerLogin`. */
  readonly session: string | undefined;
  readonly notBefore: number | undefined;
}

/** The logins that have ended, from the records that say so. */
export class EndedLogins {
  /** By hash, then by record: one may be ended again before the first record goes. */
  readonly #ends = new Map<string, Map<string, number>>();

  record({ old, new: row }: Change<EndOfLogin>): void {
    if (old?.session !== undefined) this.#forget(old.session, old.name);
    if (row?.session === undefined || row.notBefore === undefined) return;
    const ends = this.#ends.get(row.session) ?? new Map<string, number>();
    this.#ends.set(row.session, ends.set(row.name, row.notBefore));
  }

  /** Whether any has. */
  get isEmpty(): boolean {
    return this.#ends.size === 0;
  }

  /** Whether one has ended after that time. */
  has({ sid, sub, auth }: IssuerLogin, beganAt: number): boolean {
    return [sid, sub, auth].some((session) => session !== undefined && beganAt < this.#endOf(session));
  }

  /** When it was ended last; what began before that is over. */
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
