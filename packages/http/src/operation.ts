import type { Context } from 'koa';
import { z } from 'zod';
import type { Bearer, Caller, ViewedAccess } from './caller.ts';

/**
 * Use of credentials by an operation (docs/contract/conventions.md):
 * - `none`: ignores them;
 * - `optional`: a bearer token that is given must be accepted, else 401; without one, or with a session that has ended, the caller is
 *   anonymous;
 * - `required`: 401 without an accepted bearer token or session;
 * - `forwarded`: as `required`, but the single API server call with the token decides whether it is accepted.
 */
export type CredentialRule = 'none' | 'optional' | 'required' | 'forwarded';

type CallerFor<C extends CredentialRule> = {
  none: undefined;
  optional: Caller | undefined;
  required: Caller;
  forwarded: Bearer;
}[C];

interface OperationRequest<C extends CredentialRule, P, Q, B> {
  ctx: Context;
  caller: CallerFor<C>;
  params: P;
  query: Q;
  body: B;
  /** Aborted when the caller goes away or the request's deadline passes: hand it to every upstream call. */
  signal: AbortSignal;
}

export interface AnswerDescription {
  description: string;
  /** Zod schema of the answer for each media type, with an example (`.meta({ examples: [...] })`) unless it is `bytes`. */
  content?: Record<string, z.ZodType>;
  headers?: Record<string, string>;
}

/** Value of the `Upgrade` header, in lower case. */
export type UpgradeProtocol = 'websocket' | 'spdy/3.1';

/** Additions to the OpenAPI document that the declaration does not need. */
interface Described {
  deprecated?: true;
  /** Body that the handler itself reads after the check of rights, by media type. */
  body?: Readonly<Record<string, z.ZodType>>;
  /** Query that is passed on unread. */
  query?: z.ZodObject;
  /** Headers of the request that the handler itself reads, and what they do. */
  headers?: Readonly<Record<string, string>>;
  /** Description of answers of another server, passed on with any status. */
  passedOn?: string;
}

/** Classes of requests in flight, each of which has places of its own. */
export type RequestClass = 'people' | 'strangers' | 'static';

/** Bounds of a request that an operation may change. */
export interface RequestBounds {
  /** Counts a request whose credential waits for another server: as one of its person if the session is known, else of its network. */
  whileReading<T>(ctx: Context, reading: Promise<T>): Promise<T>;
  /**
   * Waits for a place of the request's flow, and works in it.
   *
   * @param requestClass default: that of the flow
   * @throws StatusError 429, or what the work throws
   */
  inPlace(ctx: Context, work: () => Promise<void>, requestClass?: RequestClass): Promise<void>;
  /** Exchanges the place of the request for one of its present flow. @returns undefined if there is no wait. @throws StatusError 429 */
  enter(ctx: Context): Promise<void> | undefined;
  /** Lets a request outlive the deadline. @param holder counts the request in its bound. @throws StatusError 429 */
  onLongRunning(ctx: Context, holder: string): void;
  /** Gives a request a longer deadline. */
  onSlow(ctx: Context, timeoutMs: number): void;
}

export type Preparation = (ctx: Context, bounds: RequestBounds) => void;

interface OperationBase {
  /** Operation id of the contract, also the metrics label. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** The path whole, as a literal in @koa/router syntax, below the base path. A second path is an operation with an id of its own. */
  paths: readonly [string];
  tag: string;
  summary: string;
  description?: string;
  /** Success answers, and the 4xx that the operation's own logic gives; transport statuses are added everywhere. */
  answers: Record<number, AnswerDescription>;
  /** Media types of the body. Default: JSON. */
  bodyTypes?: readonly [string, ...string[]];
  /** Used by the OpenAPI document only. */
  described?: Described;
  /** True for an operation that a user may call who must change the password. Operations without a credential need no mark. */
  openToPasswordDue?: true;
  /** True for an operation that takes access tokens with any scope, because its answer is about the token itself. */
  openToScopes?: true;
  /** Places of an operation without a credential: those of static files, or none for a probe that is always answered. Default: `strangers`. */
  places?: 'static' | 'none';
  /** False if HEAD must be 405 because it would have an effect: a link checker must not use up a code. */
  answersHead?: false;
  /** Keeps parsed bodies by their text, where the same body, without secrets, comes again and again. */
  isAskedAgain?: true;
  /** Bytes of the body. Default: `server.bodyLimit`. */
  bodyLimit?: number;
  /**
   * Query parameters that are accepted and not read, beside those of the schema; others are 400. `all` where another party chooses
   * them (an issuer: RFC 6749, 4.1.2; clients of Kubernetes; probes; links to a page), or where they are passed on.
   */
  ignoredQuery?: readonly string[] | 'all';
  /**
   * Access that a request with `Impersonate-*` headers takes; without it such a request is 400 (docs/contract/view-as.md). All that the
   * operation does then is decided with the rights of the caller, so that it also takes access tokens with a scope.
   */
  viewAs?: (ctx: Context, params: Readonly<Record<string, string>>) => ViewedAccess;
  /** Protocol to which the connection may switch (RFC 9110, 7.8). Without it `Upgrade` is ignored. */
  upgrade?: UpgradeProtocol;
  /** Functions that run before the credential is read: `compressed`, `longRunning`, `withTimeout`, `withHeaders`. */
  before?: readonly Preparation[];
}

interface OperationDefinition<C extends CredentialRule, P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType>
  extends OperationBase {
  credential: C;
  /** Path parameters. An invalid value is 404, because no such object can exist. */
  params?: P;
  /** Query parameters. An array in the schema makes a parameter repeatable; all others given twice are 400. */
  query?: Q;
  /** JSON body. An invalid body is 400 with a cause for each violation. */
  body?: B;
  handle(request: OperationRequest<C, z.output<P>, z.output<Q>, z.output<B>>): Promise<void> | void;
}

/** An operation with its types folded away, as the router and the OpenAPI document see it. */
export interface Operation extends OperationBase {
  credential: CredentialRule;
  params: z.ZodObject;
  query: z.ZodObject;
  body: z.ZodType | undefined;
  handle(request: {
    ctx: Context;
    caller: Caller | Bearer | undefined;
    params: unknown;
    query: unknown;
    body: unknown;
    signal: AbortSignal;
  }): Promise<void> | void;
}

/** Binary content, or text that is served unchanged. */
export const bytes = z.string().meta({ format: 'binary' });

const noInput = z.object({});

/**
 * Declares an operation: path, inputs, answers and handler. The router, the validation, the OpenAPI document and the metrics read this
 * declaration.
 */
export function operation<
  C extends CredentialRule,
  P extends z.ZodObject = typeof noInput,
  Q extends z.ZodObject = typeof noInput,
  B extends z.ZodType = z.ZodUndefined,
>(definition: OperationDefinition<C, P, Q, B>): Operation {
  const { handle, params, query, body, ...rest } = definition;
  return {
    ...rest,
    params: params ?? noInput,
    query: query ?? noInput,
    body,
    // The router calls it only with what these very schemas produced and with the caller that the credential rule promises.
    handle: handle as Operation['handle'],
  };
}

/**
 * Compresses JSON, scripts and style sheets over 1 KB. Never used for an answer that may hold a credential, because its length would
 * confirm guesses (BREACH), or whose ETag is used in `If-Match`, because the ETag names one encoding.
 */
export const compressed: Preparation = (ctx) => {
  ctx.state.isCompressed = true;
};

/** Lets selected requests outlive the deadline, such as watches. They count in the bound of their caller. */
export const longRunning =
  (isLong: (ctx: Context) => boolean): Preparation =>
  (ctx) => {
    if (isLong(ctx)) ctx.state.isLasting = true;
  };

/** Gives requests a deadline above `server.requestTimeout`, in milliseconds. */
export const withTimeout =
  (timeoutMs: number): Preparation =>
  (ctx, bounds) =>
    bounds.onSlow(ctx, timeoutMs);

/** Sets headers on every answer of an operation, refusals included. */
export const withHeaders =
  (headers: Readonly<Record<string, string>>): Preparation =>
  (ctx) =>
    ctx.set(headers);
