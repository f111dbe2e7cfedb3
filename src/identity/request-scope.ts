import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from 'koa';
import { stateOf } from '../http/request-state.ts';

/** A record as it was last seen. */
interface KnownRecord {
  readonly resourceVersion: string;
  /** What it holds, but for its end. */
  readonly content: string;
}

/** The request on whose behalf records are read and written: the provider calls its adapter without it. */
export interface RequestScope {
  readonly ctx: Context;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Peer address, or what a trusted proxy says it is. */
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
  const { signal, source } = stateOf(ctx);
  return scopes.run({ ctx, signal, now, source, known: new Map(), revoked: new Set(), isProven: false }, run);
}

export function requestScope(): RequestScope {
  const scope = scopes.getStore();
  if (scope === undefined) throw new Error('a record was asked for outside of a request');
  return scope;
}
