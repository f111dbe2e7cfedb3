import type { Context } from 'koa';
import type { Trace } from '../telemetry/tracing.ts';
import type { ViewedAccess, ViewTarget } from './operation.ts';
import { RequestLifetime } from './request-deadline.ts';

interface RequestStart {
  requestId: string;
  source: string;
  timeoutMs: number;
}

/** Facts about one request, as `ctx.state` while it is under way. */
export class RequestState {
  readonly requestId: string;
  /** Address of the peer, or the one that a trusted proxy forwards for. */
  readonly source: string;
  readonly startedAt = performance.now();
  readonly lifetime: RequestLifetime;
  operationId?: string;
  /** Undefined if the request belongs to no trace. */
  trace?: Trace;
  /** For the access log; never a credential. */
  userName?: string;
  /** View of the request, which is checked again while a long request is open. */
  viewed?: { readonly target: ViewTarget; readonly access: ViewedAccess };
  /** True if the request may outlive the request deadline. */
  isLasting?: true;
  /** True if the operation allows compressed answers. */
  isCompressed?: true;
  /** Browser that a user has logged in with before, once it is looked up. */
  knownBrowser?: { readonly id: string; readonly user: string } | 'unknown';
  /** Id of the issuer whose callback the request is. */
  issuerID?: string;
  /** User code of a device (RFC 8628), taken out of the URL. */
  userCode?: string;
  /** Why a credential was refused, for the access log: callers are not told. */
  refusal?: string;

  constructor(ctx: Context, { requestId, source, timeoutMs }: RequestStart) {
    this.requestId = requestId;
    this.source = source;
    this.lifetime = new RequestLifetime(ctx, timeoutMs);
  }

  /** Aborts at the deadline, and when the caller goes away. */
  get signal(): AbortSignal {
    return this.lifetime.signal;
  }

  /** Returns the milliseconds until the deadline, for operations that can report partial work. */
  leftMs(): number {
    return this.lifetime.leftMs;
  }
}

declare module 'koa' {
  interface Context {
    state: RequestState;
  }
  interface DefaultState extends RequestState {}
}

/** Returns the status code that the caller has received; 499 for a caller that left before the end of the answer. */
export const receivedCode = ({ res }: Context): number => (res.writableFinished ? res.statusCode : 499);
