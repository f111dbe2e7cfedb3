import Router, { type Layer } from '@koa/router';

/** Routes of a path by method, and its parameters. */
export interface Found<T> {
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
export class RouteTable<T> {
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
