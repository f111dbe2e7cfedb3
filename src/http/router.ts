import type { Context, Middleware } from 'koa';
import { methodNotAllowed, passwordDue, StatusError, unauthorized, unknownPath } from '../api/status.ts';
import { validate } from '../api/violations.ts';
import type { Authenticator } from './authenticator.ts';
import { checkLength, jsonReader } from './body.ts';
import { varyOn } from './conditional.ts';
import { badInput, parseParams, parseQuery, repeatableParameters } from './input.ts';
import type { Bearer, Caller, Operation, RequestBounds } from './operation.ts';
import { type Found, RouteTable } from './route-table.ts';
import { TokenGuard } from './token-guard.ts';

/** What the frame keeps of a request while it is under way. */
export interface RequestState {
  requestId: string;
  /** Peer address, or what a trusted proxy says it is. */
  source: string;
  signal: AbortSignal;
  /** Milliseconds until the request's deadline, for an operation that can answer how far it got. */
  leftMs: () => number;
  operationId?: string;
  /** For the access log; never a credential. */
  userName?: string;
  /** Whether the operation lets its answers be compressed. */
  isCompressed?: true;
  /** Why a credential was refused, for the access log: callers are not told. */
  refusal?: string;
}

export interface RouterOptions {
  operations: readonly Operation[];
  authenticator: Authenticator;
  bodyLimit: number;
  /** Milliseconds that only ever grow. */
  clock?: (() => number) | undefined;
  corsOrigins: readonly string[];
  bounds: RequestBounds;
  /** Told of each 403 that the caller of an operation gets. */
  onForbidden?: ((ctx: Context, caller: Caller, error: StatusError) => void) | undefined;
}

/** Below these an unknown path is a 404 Status; everything else belongs to the static files. */
export const reservedPath = /^\/(api|apis|auth|openapi|plugins)(\/|$)/;

/** What `/{*subpath}` stands for. */
const unreservedPath = /^\/(?!(?:api|apis|auth|openapi|plugins)(?:\/|$)).*$/;

const jsonTypes = ['application/json'] as const;

export const stateOf = (ctx: Context): RequestState => ctx.state;

/** Routes requests to operations: method and path, credential, input, handler, in this order. */
export function routeOperations(options: RouterOptions): Middleware {
  const guard = new TokenGuard(options.clock);
  const table = new RouteTable<Serve>(unreservedPath);
  for (const operation of options.operations) {
    const serve = runner(operation, options, guard);
    for (const path of operation.paths) table.add(path, methodsOf(operation), serve);
  }
  const refuse = (ctx: Context, found: Found<Serve> | undefined): void => {
    checkLength(ctx.req, options.bodyLimit);
    if (found === undefined) throw unknownPath();
    const allowed = [...found.routes.keys(), 'OPTIONS'].sort();
    if (ctx.method !== 'OPTIONS') throw methodNotAllowed(ctx.method, allowed);
    answerOptions(ctx, allowed);
  };

  return async (ctx) => {
    allowOrigin(ctx, options.corsOrigins);
    const found = table.find(ctx.path);
    const serve = found?.routes.get(ctx.method);
    if (serve === undefined || isPreflight(ctx)) refuse(ctx, found);
    else await serve(ctx, found?.params ?? {});
  };
}

/** A GET is answered to HEAD as well. */
const methodsOf = ({ method, answersHead }: Operation): string[] =>
  method === 'GET' && answersHead !== false ? ['GET', 'HEAD'] : [method];

/** CORS (Fetch Standard, section 3.3): only for origins that the configuration lists. */
function allowOrigin(ctx: Context, origins: readonly string[]): void {
  if (origins.length === 0) return;
  ctx.vary('Origin');
  const origin = ctx.get('Origin');
  if (!origins.includes(origin)) return;
  ctx.set('Access-Control-Allow-Origin', origin);
  ctx.set('Access-Control-Allow-Credentials', 'true');
  ctx.set('Access-Control-Expose-Headers', 'ETag, Link, Location, Retry-After, Warning, X-Request-Id');
}

/** A browser asks before it sends what a page of a listed origin wants, without the credential that comes with it. */
const isPreflight = (ctx: Context): boolean =>
  ctx.method === 'OPTIONS' &&
  ctx.get('Access-Control-Request-Method') !== '' &&
  ctx.response.get('Access-Control-Allow-Origin') !== '' &&
  ctx.get('Authorization') === '';

function answerOptions(ctx: Context, allowed: readonly string[]): void {
  ctx.status = 204;
  ctx.set('Allow', allowed.join(', '));
  if (!ctx.response.get('Access-Control-Allow-Origin')) return;
  ctx.set('Access-Control-Allow-Methods', allowed.join(', '));
  ctx.set('Access-Control-Allow-Headers', 'Authorization, Content-Type, If-Match, If-None-Match, X-Request-Id');
  ctx.set('Access-Control-Max-Age', '600');
}

type Serve = (ctx: Context, params: Readonly<Record<string, string>>) => Promise<void>;

function runner(operation: Operation, options: RouterOptions, guard: TokenGuard): Serve {
  const readInput = inputReader(operation, options.bodyLimit);

  return async (ctx, params) => {
    const state = stateOf(ctx);
    state.operationId = operation.id;
    for (const prepare of operation.before ?? []) prepare(ctx, options.bounds);
    checkLength(ctx.req, operation.bodyLimit ?? options.bodyLimit);
    const serve = async (caller: Caller | Bearer | undefined): Promise<void> => {
      const input = await readInput(ctx, params);
      await operation.handle({ ctx, caller, ...input, signal: state.signal });
    };
    const bearer = await readCredential(ctx, operation, options.authenticator);
    if (bearer === undefined) return serve(undefined);
    // A forwarded token is judged by the call that the operation makes with it.
    if (operation.credential === 'forwarded') return guard.ask(state.source, bearer, () => serve(bearer));
    const caller = await guard.ask(state.source, bearer, () => options.authenticator.identify(bearer, state.signal));
    state.userName = caller.identity.name;
    try {
      await serve(caller);
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 403) options.onForbidden?.(ctx, caller, error);
      throw error;
    }
  };
}

async function readCredential(ctx: Context, operation: Operation, authenticator: Authenticator): Promise<Bearer | undefined> {
  const { credential } = operation;
  if (credential === 'none') return undefined;
  varyOn(ctx, 'Authorization, Cookie');
  const { authorization, cookie } = ctx.req.headers;
  // Without either there is none, whatever the authenticator.
  if (credential === 'optional' && authorization === undefined && cookie === undefined) return undefined;
  const bearer = await authenticator.read(ctx, credential === 'optional');
  if (bearer === undefined && credential !== 'optional') throw unauthorized({ tokenGiven: false });
  if (bearer?.mustChangePassword && credential !== 'optional' && !operation.openToPasswordDue) throw passwordDue();
  return bearer;
}

type Input = { params: unknown; query: unknown; body: unknown };

function inputReader(operation: Operation, bodyLimit: number) {
  const repeatable = repeatableParameters(operation.query);
  const readBody = bodyReader(operation, bodyLimit);
  return async (ctx: Context, params: Readonly<Record<string, string>>): Promise<Input> => ({
    params: parseParams(operation.params, params),
    query: parseQuery(operation.query, repeatable, searchOf(ctx)),
    body: readBody && (await readBody(ctx)),
  });
}

const noSearch = new URLSearchParams();

/** Without the rest of the URL, which takes its time to be made. */
const searchOf = ({ querystring }: Context): URLSearchParams => (querystring === '' ? noSearch : new URLSearchParams(querystring));

function bodyReader({ body: schema, bodyTypes: mediaTypes = jsonTypes }: Operation, limit: number) {
  if (schema === undefined) return undefined;
  const read = jsonReader({ limit, mediaTypes });
  return async (ctx: Context): Promise<unknown> => {
    const result = validate(schema, await read(ctx));
    if (!result.success) throw badInput(result.violations);
    return result.data;
  };
}
