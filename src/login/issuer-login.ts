import { hash } from 'node:crypto';
import type { Change } from '../kubernetes/watch-cache.ts';

/**
 * How the issuer names a log-in: its own session (`sid`) and its user (`sub`). As hashes, which can stand in labels and which nobody
 * who may read objects can turn into a logout token.
 */
export interface IssuerLogin {
  readonly sid: string | undefined;
  readonly sub: string | undefined;
}

export const issuerLoginOf = ({ iss, sid, sub }: { iss: string; sid?: unknown; sub?: string | undefined }): IssuerLogin => ({
  sid: typeof sid === 'string' && sid !== '' ? hashOf('sid', iss, sid) : undefined,
  sub: sub === undefined ? undefined : hashOf('sub', iss, sub),
});

/** Neither can be another issuer's, nor one the other. */
const hashOf = (...parts: readonly string[]): string => hash('sha256', JSON.stringify(parts)).slice(0, 40);

/** What a record says of a log-in that has ended. Times are milliseconds since 1970. */
interface EndOfLogin {
  readonly name: string;
  /** Hash of the `sid`, or of the `sub`. */
  readonly session: string | undefined;
  readonly notBefore: number | undefined;
}

/** The log-ins that the issuer has ended, from the records that say so. */
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

  /** When it was ended last; what began before that is over. */
  endOf(session: string): number | undefined {
    const ends = this.#ends.get(session);
    return ends && Math.max(...ends.values());
  }

  #forget(session: string, name: string): void {
    const ends = this.#ends.get(session);
    ends?.delete(name);
    if (ends?.size === 0) this.#ends.delete(session);
  }
}
