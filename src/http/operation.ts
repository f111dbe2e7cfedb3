import type { Context } from 'koa';
import { z } from 'zod';

/**
 * What a caller proves himself with, after every check that needs no call: a bearer token that came in the header, or the one that his
 * session holds. `hash` (SHA-256, hex) is the only form that may serve as a key or be stored.
 */
export interface Bearer {
  readonly token: string;
  readonly hash: string;
  /** The service itself has verified it: a token of the login's issuer, a session or an access token, and no guess. */
  readonly isVerified?: true;
  /** Set when calls are made by impersonation instead of with the token. From the verified token, never from anything else sent along. */
  readonly actAs?: Identity;
  /** Name of the Session object, when a session cookie stands for the token. */
  readonly session?: string;
  /** Name of the User record, when the token is one of the issuer that people log in at. */
  readonly user?: string;
  /** Who the caller is at the external issuer that people log in at, when the token is one of it. */
  readonly subject?: { readonly issuer: string; readonly sub: string };
  /** The login that the token comes from, as the issuer tells of it: when it was (Unix seconds), and what it is worth. */
  readonly login?: { readonly authTime: number; readonly acr?: string };
  /** Id of the access token, when it is one: it makes no further credentials (`sensitive-writes.ts`). */
  readonly accessToken?: string;
  /** The user's password is due: only what an operation declares `openToPasswordDue` is his until he has changed it. */
  readonly mustChangePassword?: boolean;
}

/** The identity of a caller as the API server tells it (SelfSubjectReview, authentication.k8s.io/v1). */
export interface Identity {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** A credential that was accepted, and whose it is. */
export interface Caller extends Bearer {
  readonly identity: Identity;
}

/** Tells callers apart. The name, where it is known: many tokens of one person are one caller. */
export function callerKey(caller: Bearer & { identity?: Identity }): string {
  const { name } = caller.identity ?? caller.actAs ?? {};
  return name === undefined ? `token ${caller.hash}` : `name ${name}`;
}

/**
 * What an operation does with credentials (docs/contract/conventions.md):
 * - `none`: never looks at them;
 * - `optional`: a bearer token that is given must be accepted, else 401; without one, or with a session that has ended, the caller is anonymous;
 * - `required`: 401 without an accepted bearer token or session;
 * - `forwarded`: as `required`, but the one API server call that the operation makes with the token has the last word on it.
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
  /** By media type: the zod schema of the answer, with an example of it (`.meta({ examples: [...] })`) unless it is `bytes`. */
  content?: Record<string, z.ZodType>;
  headers?: Record<string, string>;
}

/** In lower case, as `Upgrade` names it. */
export type UpgradeProtocol = 'websocket' | 'spdy/3.1';

/** What the OpenAPI document says of an operation beside its declaration. */
interface Described {
  deprecated?: true;
  /** Of a body that the handler checks or reads, after the caller's rights; by media type. */
  body?: Readonly<Record<string, z.ZodType>>;
  /** Of a query that is not read here but passed on. */
  query?: z.ZodObject;
  /** Headers of the request that the handler itself reads, and what they do. */
  headers?: Readonly<Record<string, string>>;
  /** What the answers of another server are that go out with whatever status they have. */
  passedOn?: string;
}

/** What bounds requests, as an operation may change it for one of its own. */
export interface RequestBounds {
  /** This request may outlive the request deadline. @param holder whose bound it counts in; @throws StatusError 429 */
  onLongRunning(ctx: Context, holder: string): void;
  /** This request may take longer than others. */
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
  /** What the OpenAPI document alone needs. */
  described?: Described;
  /** Answered also to a user whose password is due. Operations without a credential need not say so. */
  openToPasswordDue?: true;
  /** False where a HEAD would have an effect (a link checker must not spend a code): it is 405. */
  answersHead?: false;
  /** Bytes of a body that the handler reads itself, as it comes. Default: `server.bodyLimit`. */
  bodyLimit?: number;
  /**
   * Query parameters that are accepted and not read, beside those of the schema; others are 400. `all` where another party chooses
   * them (an issuer: RFC 6749, 4.1.2; clients of Kubernetes; probes; links to a page), or where they are passed on.
   */
  ignoredQuery?: readonly string[] | 'all';
  /** Another protocol that the connection may go on in (RFC 9110, 7.8). Without it `Upgrade` is ignored. */
  upgrade?: UpgradeProtocol;
  /** Done with each request before its credential is read: functions of `preparations.ts`. */
  before?: readonly Preparation[];
}

export interface OperationDefinition<C extends CredentialRule, P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType>
  extends OperationBase {
  credential: C;
  /** Path parameters. What does not fit is 404 unless `badParams` says otherwise: no such object can exist. */
  params?: P;
  /** Query parameters. An array in the schema makes a parameter repeatable; all others given twice are 400. */
  query?: Q;
  /** The JSON body. What does not fit is 400 with a cause per violation. */
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

/** What is no text, or one that is served as it is. */
export const bytes = z.string().meta({ format: 'binary' });

const noInput = z.object({});

/**
 * Declares an operation: its path, inputs, answers and handler in one place. The router, the validation, the OpenAPI document and
 * the metrics all read this one description.
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
    handle: (request) => handle(request as OperationRequest<C, z.output<P>, z.output<Q>, z.output<B>>),
  };
}
