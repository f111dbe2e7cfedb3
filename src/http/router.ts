import type { Context, Middleware } from 'koa';
import { methodNotAllowed, passwordDue, StatusError, unauthorized, unknownPath } from '../api/status.ts';
import { networkOf } from '../limits/rate-limit.ts';
import type { Authenticator } from './authenticator.ts';
import { checkLength } from './body.ts';
import { inputReader } from './input.ts';
import { type Bearer, type Caller, callerKey, type Operation, type RequestBounds } from './operation.ts';
import { type Found, RouteTable } from './route-table.ts';
import { TokenGuard } from './token-guard.ts';
import { hasViewHeaders, viewHeaders, viewHeadersRefused, viewWriteHeader } from './view-headers.ts';

export interface RouterOptions {
  operations: readonly Operation[];
  authenticator: Authenticator;
  bodyLimit: number;
  /** Milliseconds that only ever grow. */
  clock?: (() => number) | undefined;
  bounds: RequestBounds;
  /** Receives each 403 that an operation gives to an authenticated caller. */
  onForbidden?: ((ctx: Context, caller: Caller, error: StatusError) => void) | undefined;
}

/** Prefixes of the API, where an unknown path is a 404 Status. All other paths belong to the static files. */
export const reservedPath = /^\/(api|apis|auth|openapi|plugins)(\/|$)/;

/** Paths of `/{*subpath}`. */
const unreservedPath = /^\/(?!(?:api|apis|auth|openapi|plugins)(?:\/|$)).*$/;

/** Routes requests to operations: method and path, credential, input, handler, in this order. */
export function routeOperations(options: RouterOptions): Middleware {
  const guard = new TokenGuard(options.clock);
  const table = new RouteTable<Serve>(unreservedPath);
  for (const operation of options.operations) {
    const serve = runner(operation, options, guard);
    for (const path of operation.paths) table.add(path, methodsOf(operation), serve);
  }
  const refuse = (ctx: Context, found: Found<Serve> | undefined): void => {
    if (hasViewHeaders(ctx.req)) throw viewHeadersRefused();
    checkLength(ctx.req, options.bodyLimit);
    if (found === undefined) throw unknownPath();
    const allowed = [...found.routes.keys(), 'OPTIONS'].sort();
    if (ctx.method !== 'OPTIONS') throw methodNotAllowed(ctx.method, allowed);
    answerOptions(ctx, allowed);
  };

  return async (ctx) => {
    const { path, method } = ctx.request;
    const found = table.find(path);
    const serve = found?.routes.get(method);
    if (serve === undefined || isPreflight(ctx)) return refuse(ctx, found);
    return serve(ctx, found?.params ?? {});
  };
}

/** GET operations answer HEAD, too. */
const methodsOf = ({ method, answersHead }: Operation): string[] =>
  method === 'GET' && answersHead !== false ? ['GET', 'HEAD'] : [method];

/** Preflight request of a page of a listed origin: sent without the credential that the request itself will carry. */
const isPreflight = (ctx: Context): boolean =>
  ctx.req.method === 'OPTIONS' &&
  ctx.get('Access-Control-Request-Method') !== '' &&
  ctx.response.get('Access-Control-Allow-Origin') !== '' &&
  ctx.get('Authorization') === '';

const allowedHeaders = [
  ...['Authorization', 'Content-Type', 'If-Match', 'If-None-Match', 'Traceparent', 'Tracestate', 'X-Request-Id'],
  ...[...viewHeaders, viewWriteHeader],
].join(', ');

function answerOptions(ctx: Context, allowed: readonly string[]): void {
  ctx.status = 204;
  ctx.set('Allow', allowed.join(', '));
  if (!ctx.response.get('Access-Control-Allow-Origin')) return;
  ctx.set('Access-Control-Allow-Methods', allowed.join(', '));
  ctx.set('Access-Control-Allow-Headers', allowedHeaders);
  ctx.set('Access-Control-Max-Age', '600');
}

type Params = Readonly<Record<string, string>>;
type Serve = (ctx: Context, params: Params) => Promise<void>;

function runner(operation: Operation, options: RouterOptions, guard: TokenGuard): Serve {
  const { credential } = operation;
  const { authenticator, bounds, onForbidden } = options;
  const { view } = authenticator;
  const accessOf = view && operation.viewAs;
  const varies = [...(accessOf ? viewHeaders : []), ...(credential === 'none' ? [] : ['Authorization', 'Cookie'])].join(', ');
  const handleInput = inputReader(operation, options.bodyLimit);

  return async (ctx, params) => {
    ctx.state.operationId = operation.id;
    for (const prepare of operation.before ?? []) prepare(ctx, bounds);
    checkLength(ctx.req, operation.bodyLimit ?? options.bodyLimit);
    const isView = hasViewHeaders(ctx.req);
    if (isView && accessOf === undefined) throw viewHeadersRefused();
    if (varies !== '') ctx.vary(varies);
    if (credential === 'none') return handle(ctx, params, undefined);
    const bearer = checkCredential(await authenticator.read(ctx, credential === 'optional'), operation);
    if (bearer === undefined) return handle(ctx, params, undefined);
    const state = ctx.state;
    // The call that the operation makes with a forwarded token verifies it. The bound of long requests needs the caller's name before.
    if (credential === 'forwarded' && !state.isLasting && !isView)
      return guard.ask(state.source, bearer, () => handle(ctx, params, bearer));
    const identify = () => authenticator.identify(bearer, state.signal);
    const caller = authenticator.identified?.(bearer) ?? (await guard.ask(state.source, bearer, identify));
    state.userName = caller.identity.name;
    const isOwn = !isView || view === undefined || accessOf === undefined;
    return handleCaller(ctx, params, isOwn ? caller : await view(ctx, caller, accessOf(ctx, params)));
  };

  async function handleCaller(ctx: Context, params: Params, caller: Caller): Promise<void> {
    try {
      await handle(ctx, params, caller);
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 403) onForbidden?.(ctx, caller, error);
      throw error;
    }
  }

  function handle(ctx: Context, params: Params, caller: Caller | Bearer | undefined): Promise<void> {
    const { isLasting, source } = ctx.state;
    if (isLasting) bounds.onLongRunning(ctx, caller === undefined ? `network ${networkOf(source)}` : callerKey(caller));
    return handleInput(ctx, params, caller);
  }
}

/** @throws StatusError 401, 403 PasswordExpired */
function checkCredential(bearer: Bearer | undefined, operation: Operation): Bearer | undefined {
  const { credential } = operation;
  if (bearer === undefined && credential !== 'optional') throw unauthorized({ tokenGiven: false });
  if (bearer?.mustChangePassword && credential !== 'optional' && !operation.openToPasswordDue) throw passwordDue();
  return bearer;
}
