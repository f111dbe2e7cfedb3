import { methodNotAllowed, passwordDue, StatusError, unauthorized, unknownPath } from '@atrium/objects/status.ts';
import Router, { type Layer } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { type Authenticator, TokenGuard } from './authenticator.ts';
import { checkLength } from './body.ts';
import { type Bearer, type Caller, callerKey, flowOf } from './caller.ts';
import { networkOf } from './client-address.ts';
import { inputReader } from './input.ts';
import { joinPerson } from './limits/semaphore.ts';
import type { Operation, RequestBounds } from './operation.ts';
import { outsideScope } from './scope.ts';
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

/**
 * Prefixes of the API, where an unknown path is a 404 Status. All other paths belong to the static files, and so does `/plugins` itself,
 * which users type as the address of a page.
 */
export const reservedPath = /^\/(?:(?:api|apis|auth|mcp|openapi)(?:\/|$)|plugins\/.)/;

/** Paths of `/{*subpath}`. */
const unreservedPath = new RegExp(`^(?!${reservedPath.source.slice(1)})/.*$`);

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
/** Credential of a request, and its owner if the API server need not be asked. */
interface Presented {
  bearer: Bearer;
  caller: Caller | undefined;
  isView: boolean;
}

type Serve = (ctx: Context, params: Params) => Promise<void>;

function runner(operation: Operation, options: RouterOptions, guard: TokenGuard): Serve {
  const { credential } = operation;
  const { authenticator, bounds, onForbidden } = options;
  const { view } = authenticator;
  const accessOf = view && operation.viewAs;
  const varies = [...(accessOf ? viewHeaders : []), ...(credential === 'none' ? [] : ['Authorization', 'Cookie'])].join(', ');
  const handleInput = inputReader(operation, operation.bodyLimit ?? options.bodyLimit);
  const inOwnPlace = ownPlaces(authenticator, bounds);

  return async (ctx, params) => {
    ctx.state.operationId = operation.id;
    for (const prepare of operation.before ?? []) prepare(ctx, bounds);
    checkLength(ctx.req, operation.bodyLimit ?? options.bodyLimit);
    const isView = hasViewHeaders(ctx.req);
    if (isView && accessOf === undefined) throw viewHeadersRefused();
    if (varies !== '') ctx.vary(varies);
    if (operation.places === 'none') return handle(ctx, params, undefined);
    if (operation.places === 'static') return bounds.inPlace(ctx, () => handle(ctx, params, undefined), 'static');
    if (credential === 'none') return inOwnPlace(ctx, () => handle(ctx, params, undefined));
    return authenticated(ctx, params, isView);
  };

  async function authenticated(ctx: Context, params: Params, isView: boolean): Promise<void> {
    const reading = authenticator.read(ctx, credential === 'optional');
    const bearer = checkCredential(await bounds.whileReading(ctx, reading), operation);
    if (bearer === undefined) return bounds.inPlace(ctx, () => handle(ctx, params, undefined));
    const caller = authenticator.identified?.(bearer);
    if (caller !== undefined || guard.isAccepted(bearer)) joinPerson(ctx.state.flow, flowOf(caller ?? bearer));
    return bounds.inPlace(ctx, () => identified(ctx, params, { bearer, caller, isView }));
  }

  async function identified(ctx: Context, params: Params, { bearer, caller: known, isView }: Presented): Promise<void> {
    const state = ctx.state;
    // The call that the operation makes with a forwarded token verifies it. The bound of long requests needs the caller's name before.
    if (credential === 'forwarded' && !state.isLasting && !isView)
      return guard.ask(state.source, bearer, () => handle(ctx, params, bearer));
    const identify = () => authenticator.identify(bearer, state.signal);
    const caller = known ?? (await guard.ask(state.source, bearer, identify));
    state.userName = caller.identity.name;
    const flow = flowOf(caller);
    if (flow !== state.flow.key) {
      joinPerson(state.flow, flow);
      await bounds.enter(ctx);
    }
    const isOwn = !isView || view === undefined || accessOf === undefined;
    return handleCaller(ctx, params, isOwn ? caller : await view(ctx, caller, accessOf(ctx, params)));
  }

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

/** Returns a function that works in a place of the person whose session the browser has, else of the network. The work needs no credential. */
export const ownPlaces =
  ({ recognize }: Authenticator, bounds: RequestBounds) =>
  async (ctx: Context, work: () => Promise<void>): Promise<void> => {
    const flow = await recognize?.(ctx);
    if (flow !== undefined) joinPerson(ctx.state.flow, flow);
    return bounds.inPlace(ctx, work);
  };

/** @throws StatusError 401, 403 PasswordExpired, OutsideScope */
function checkCredential(bearer: Bearer | undefined, operation: Operation): Bearer | undefined {
  const { credential, id, viewAs, openToPasswordDue, openToScopes } = operation;
  if (bearer === undefined && credential !== 'optional') throw unauthorized({ tokenGiven: false });
  if (bearer?.mustChangePassword && credential !== 'optional' && !openToPasswordDue) throw passwordDue();
  const isOpen = credential === 'optional' || openToScopes || (bearer?.scope?.opens({ id, usesKubernetes: viewAs !== undefined }) ?? true);
  if (!isOpen) throw outsideScope(`the operation ${id}`);
  return bearer;
}

/** Routes of a path by method, and its parameters. */
interface Found<T> {
  readonly routes: ReadonlyMap<string, T>;
  readonly params: Readonly<Record<string, string>>;
}

interface Template<T> {
  readonly path: string;
  /** Literal text in front of the first parameter. */
  readonly prefix: string;
  readonly layer: Layer;
  readonly routes: Map<string, T>;
}

const noParams = {};

/**
 * Routes by path and method. A path without parameters is looked up, and wins over templates for all methods: `/users/sync` is never
 * `/users/:name`. Templates are matched by @koa/router.
 */
class RouteTable<T> {
  readonly #literal = new Map<string, Map<string, T>>();
  /** Templates by first segment, so that a static file is compared with none of the API. */
  readonly #templates = new Map<string, Template<T>[]>();
  /** Routes of `/{*…}`. */
  readonly #rest = new Map<string, T>();
  readonly #isRest: RegExp;

  /** @param isRest matches the paths of `/{*…}` */
  constructor(isRest: RegExp) {
    this.#isRest = isRest;
  }

  /** @param path in the syntax of @koa/router */
  add(path: string, methods: readonly string[], route: T): void {
    const routes = this.#routesOf(path);
    for (const method of methods) if (!routes.has(method)) routes.set(method, route);
  }

  find(path: string): Found<T> | undefined {
    const routes = this.#literal.get(path);
    if (routes) return { routes, params: noParams };
    for (const { prefix, layer, routes } of this.#templates.get(firstSegment(path)) ?? []) {
      if (path.startsWith(prefix) && layer.match(path)) return { routes, params: layer.params(path, layer.captures(path)) };
    }
    return this.#rest.size > 0 && this.#isRest.test(path) ? { routes: this.#rest, params: noParams } : undefined;
  }

  #routesOf(path: string): Map<string, T> {
    if (path.startsWith('/{*')) return this.#rest;
    const parameter = path.search(/[:{]/);
    if (parameter < 0) {
      const routes = this.#literal.get(path) ?? new Map<string, T>();
      this.#literal.set(path, routes);
      return routes;
    }
    const prefix = path.slice(0, parameter);
    const segment = firstSegment(prefix);
    if (segment === '') throw new Error(`${path} has a parameter in its first segment, by which paths are found`);
    const templates = this.#templates.get(segment) ?? [];
    const known = templates.find((template) => template.path === path);
    if (known) return known.routes;
    const template = { path, prefix, layer: matcherOf(path), routes: new Map<string, T>() };
    this.#templates.set(segment, [...templates, template]);
    return template.routes;
  }
}

/** Returns the first segment with its slash, '' if there is none. */
const firstSegment = (path: string): string => path.slice(0, path.indexOf('/', 1) + 1);

/** Returns the matcher of @koa/router for one path. The router itself would try all paths for each request. */
function matcherOf(path: string): Layer {
  const router = new Router({ sensitive: true, strict: true }).get(path, () => undefined);
  const [layer] = router.stack;
  if (layer === undefined) throw new Error(`no matcher for ${path}`);
  return layer;
}
