import type { Context } from 'koa';

/** Facts about one request, as `ctx.state` while it is under way. */
export interface RequestState {
  requestId: string;
  /** Address of the peer, or the one that a trusted proxy forwards for. */
  source: string;
  signal: AbortSignal;
  /** Returns the milliseconds until the deadline, for operations that can report partial work. */
  leftMs: () => number;
  operationId?: string;
  /** For the access log; never a credential. */
  userName?: string;
  /** True if the request may outlive the request deadline. */
  isLasting?: true;
  /** True if the operation allows compressed answers. */
  isCompressed?: true;
  /** Why a credential was refused, for the access log: callers are not told. */
  refusal?: string;
}

export const stateOf = (ctx: Context): RequestState => ctx.state;
