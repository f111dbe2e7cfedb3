import type { Context } from 'koa';
import { methodNotAllowed, passwordDue, StatusError, unauthorized, unknownPath } from '../api/status.ts';
import { validate } from '../api/violations.ts';
import type { Authenticator } from './authenticator.ts';
import { bodyTextReader, checkLength, decodeJson } from './body.ts';
import { varyOn } from './conditional.ts';
import { badInput, parseParams, parseQuery, refuseUnknownParameters, repeatableParameters } from './input.ts';
import { KeptInput } from './kept-input.ts';
import { networkOf } from './network.ts';
import { type Bearer, type Caller, callerKey, type Operation, type RequestBounds } from './operation.ts';
import { stateOf } from './request-state.ts';
import { type Found, RouteTable } from './route-table.ts';
import { TokenGuard } from './token-guard.ts';

/** What answers a request. It gives no promise where nothing has to be awaited: many an answer is shorter than the way of a promise. */
export type Answer = (ctx: Context) => Promise<void> | void;

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

/** Routes requests to operations: method and path, credential, input, handler, in this order. */
export function routeOperations(options: RouterOptions): Answer {
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

  return (ctx) => {
    allowOrigin(ctx, options.corsOrigins);
    const { path, method } = ctx.request;
    const found = table.find(path);
    const serve = found?.routes.get(method);
    if (serve === undefined || isPreflight(ctx)) return refuse(ctx, found);
    return serve(ctx, found?.params ?? {});
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
  ctx.req.method === 'OPTIONS' &&
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

type Params = Readonly<Record<string, string>>;
type Serve = (ctx: Context, params: Params) => Promise<void> | void;

function runner(operation: Operation, options: RouterOptions, guard: TokenGuard): Serve {
  const { credential } = operation;
  const handleInput = handler(operation, options.bodyLimit);

  return (ctx, params) => {
    const state = stateOf(ctx);
    state.operationId = operation.id;
    for (const prepare of operation.before ?? []) prepare(ctx, options.bounds);
    checkLength(ctx.req, operation.bodyLimit ?? options.bodyLimit);
    if (credential === 'none') return handle(ctx, params, undefined);
    varyOn(ctx, 'Authorization, Cookie');
    const { authorization, cookie } = ctx.req.headers;
    // Without either there is none, whatever the authenticator.
    if (credential === 'optional' && authorization === undefined && cookie === undefined) return handle(ctx, params, undefined);
    return serveAuthenticated(ctx, params);
  };

  function handle(ctx: Context, params: Params, caller: Caller | Bearer | undefined): Promise<void> | void {
    const { isLasting, source } = stateOf(ctx);
    if (isLasting) options.bounds.onLongRunning(ctx, caller === undefined ? `network ${networkOf(source)}` : callerKey(caller));
    return handleInput(ctx, params, caller);
  }

  function serveAuthenticated(ctx: Context, params: Params): Promise<void> | void {
    const reading = options.authenticator.read(ctx, credential === 'optional');
    if (reading instanceof Promise) return reading.then((bearer) => serveBearer(ctx, params, bearer));
    return serveBearer(ctx, params, reading);
  }

  function serveBearer(ctx: Context, params: Params, read: Bearer | undefined): Promise<void> | void {
    const bearer = checkCredential(read, operation);
    if (bearer === undefined) return handle(ctx, params, undefined);
    const state = stateOf(ctx);
    // The call that the operation makes with a forwarded token verifies it. The bound of long requests needs the caller's name before.
    if (credential === 'forwarded' && !state.isLasting) return guard.ask(state.source, bearer, async () => handle(ctx, params, bearer));
    const known = options.authenticator.identified?.(bearer);
    if (known !== undefined) return serveCaller(ctx, params, known);
    const asking = guard.ask(state.source, bearer, () => options.authenticator.identify(bearer, state.signal));
    return asking.then((caller) => serveCaller(ctx, params, caller));
  }

  function serveCaller(ctx: Context, params: Params, caller: Caller): Promise<void> | void {
    stateOf(ctx).userName = caller.identity.name;
    const fail = (error: unknown): never => {
      if (error instanceof StatusError && error.status.code === 403) options.onForbidden?.(ctx, caller, error);
      throw error;
    };
    try {
      return handle(ctx, params, caller)?.then(undefined, fail);
    } catch (error) {
      return fail(error);
    }
  }
}

/** @throws StatusError 401, 403 PasswordExpired */
function checkCredential(bearer: Bearer | undefined, operation: Operation): Bearer | undefined {
  const { credential } = operation;
  if (bearer === undefined && credential !== 'optional') throw unauthorized({ tokenGiven: false });
  if (bearer?.mustChangePassword && credential !== 'optional' && !operation.openToPasswordDue) throw passwordDue();
  return bearer;
}

type Handled = Parameters<Operation['handle']>[0];

/** What the handler gets. */
class OperationCall implements Handled {
  readonly ctx: Context;
  readonly caller: Caller | Bearer | undefined;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;

  constructor(call: Omit<Handled, 'signal'>) {
    this.ctx = call.ctx;
    this.caller = call.caller;
    this.params = call.params;
    this.query = call.query;
    this.body = call.body;
  }

  /** Made for those who ask for it. */
  get signal(): AbortSignal {
    return stateOf(this.ctx).signal;
  }
}

const noInput = {};

/** Reads the input, then handles it. Where a schema asks for nothing, nothing is read. */
function handler(operation: Operation, bodyLimit: number) {
  const hasParams = Object.keys(operation.params.shape).length > 0;
  const readQuery = queryReader(operation);
  const readBody = bodyReader(operation, bodyLimit);
  return (ctx: Context, given: Params, caller: Caller | Bearer | undefined): Promise<void> | void => {
    const params = hasParams ? parseParams(operation.params, given) : noInput;
    const query = readQuery(ctx);
    if (readBody === undefined) return operation.handle(new OperationCall({ ctx, caller, params, query, body: undefined }));
    return readBody(ctx).then((body) => operation.handle(new OperationCall({ ctx, caller, params, query, body })));
  };
}

/** Parameters of the frame: `api/json.ts` reads them. */
const commonParameters = ['pretty'];

function queryReader({ query: schema, credential, ignoredQuery = [] }: Operation): (ctx: Context) => unknown {
  const names = Object.keys(schema.shape);
  if (names.length === 0 && ignoredQuery === 'all') return () => noInput;
  const repeatable = repeatableParameters(schema);
  const understand = (text: string) => {
    const search = new URLSearchParams(text);
    if (ignoredQuery !== 'all') refuseUnknownParameters([...names, ...commonParameters, ...ignoredQuery], search);
    return parseQuery(schema, repeatable, search);
  };
  if (names.length === 0) return ({ request }) => (request.querystring === '' ? noInput : understand(request.querystring));
  // Without a credential it may be one: the code of a login.
  if (credential === 'none') return ({ request }: Context): unknown => understand(request.querystring);
  const kept = new KeptInput();
  return ({ request }: Context): unknown => kept.of(request.querystring, understand);
}

function bodyReader({ body: schema, bodyTypes: mediaTypes = jsonTypes, isAskedAgain }: Operation, limit: number) {
  if (schema === undefined) return undefined;
  const understand = (body: unknown): unknown => {
    const result = validate(schema, body);
    if (!result.success) throw badInput(result.violations);
    return result.data;
  };
  const read = bodyTextReader({ limit, mediaTypes });
  const kept = isAskedAgain ? new KeptInput() : undefined;
  return async (ctx: Context): Promise<unknown> => {
    const text = await read(ctx);
    if (text === undefined) return understand(undefined);
    return kept === undefined ? understand(decodeJson(text)) : kept.of(text, (json) => understand(decodeJson(json)));
  };
}
