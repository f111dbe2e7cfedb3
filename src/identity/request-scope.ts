import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from 'koa';

/** Last known version of a record. */
interface KnownRecord {
  readonly resourceVersion: string;
  /** Payload without the expiry. */
  readonly content: string;
}

/** Request for which records are read and written: the provider does not pass it to its adapter. */
export interface RequestScope {
  readonly ctx: Context;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Address of the peer, or the one that a trusted proxy forwards for. */
  readonly source: string;
  /** The records that were read or written in this request, by object name. */
  readonly known: Map<string, KnownRecord>;
  /** Grants whose records this request has deleted. */
  readonly revoked: Set<string>;
  /** True once the caller has presented a code or token of this issuer. */
  isProven: boolean;
}

const scopes = new AsyncLocalStorage<RequestScope>();

export function inRequestScope<T>(ctx: Context, now: () => Date, run: () => Promise<T>): Promise<T> {
  const { signal, source } = ctx.state;
  return scopes.run({ ctx, signal, now, source, known: new Map(), revoked: new Set(), isProven: false }, run);
}

export function requestScope(): RequestScope {
  const scope = scopes.getStore();
  if (scope === undefined) throw new Error('a record was asked for outside of a request');
  return scope;
}
