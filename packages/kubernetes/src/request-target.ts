import type { ViewedAccess } from '@atrium/http/caller.ts';
import { type Upgrade, upgradeOf } from '@atrium/http/upgrade.ts';
import { badRequest, unknownPath } from '@atrium/objects/status.ts';
import { percentDecoded } from '@atrium/objects/validation.ts';
import type { Context } from 'koa';

type ResourceAccess = Exclude<ViewedAccess, { path: string }>;

/** The resource of an API server path, parsed like the API server's RequestInfo. */
export interface TargetResource {
  group: string;
  /** Empty for a cluster-scoped path. */
  namespace: string;
  resource: string;
  /** Empty for a collection. */
  name: string;
  subresource: string;
  /** Prefix of the deprecated paths `/api/v1/watch/…` and `/api/v1/proxy/…`. */
  prefix: 'watch' | 'proxy' | undefined;
}

/** Parsed target of a request. */
export interface Target {
  /** Path as received, which is sent on. */
  readonly path: string;
  /** Query with its question mark, or empty. */
  readonly search: string;
  /** Decoded segments, without the empty one after a trailing slash. */
  readonly segments: readonly string[];
  readonly resource: TargetResource | undefined;
  /** Undefined unless the connection is to switch to another protocol. */
  readonly upgrade: Upgrade | undefined;
}

/** Characters of a segment (RFC 3986, 3.3). */
const segmentText = /^(?:[-\w.~!$&'()*+,;=:@]|%[0-9a-f]{2})*$/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unfit = /^\.{1,2}$|[/\\\u0000-\u001f\u007f-\u009f]/;
const searchText = /^[!"$-~]*$/;

/**
 * Parses the request line as received: URL parsers remove `..`, also `%2e%2e`, which would hide refused paths.
 *
 * @param own prefix of the service before the path of the API server
 * @throws StatusError 400 for a path that another server may read differently, 404 for a path that is not below `own`
 */
export function targetOf({ originalUrl, req }: Context, own: string): Target {
  const target = originalUrl.replace(/^[a-z][-+.a-z0-9]*:\/\/[^/?#]*/i, '');
  const end = /[?]|$/.exec(target)?.index ?? target.length;
  const [whole, search] = [target.slice(0, end), target.slice(end)];
  if (!whole.startsWith(`${own}/`)) throw unknownPath();
  if (!searchText.test(search)) throw badRequest('the query contains characters that must be percent-encoded');
  const path = whole.slice(own.length);
  const segments = path.slice(1).split('/').map(decoded);
  if (segments.at(-1) === '') segments.pop();
  if (segments.includes('')) throw refusal();
  return { path, search, segments, resource: resourceOf(segments), upgrade: upgradeOf(req) };
}

const refusal = () =>
  badRequest('the path must be plain: no ".." or ".", no empty segment, no escaped slash, no backslash, no control character');

function decoded(segment: string): string {
  if (!segmentText.test(segment)) throw refusal();
  const text = percentDecoded(segment);
  if (unfit.test(text)) throw refusal();
  return text;
}

/** @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go */
function resourceOf(segments: readonly string[]): TargetResource | undefined {
  const [root, first = ''] = segments;
  if (root !== 'api' && root !== 'apis') return undefined;
  const group = root === 'apis' ? first : '';
  let rest = segments.slice(root === 'apis' ? 3 : 2);
  const [special] = rest;
  const prefix = special === 'watch' || special === 'proxy' ? special : undefined;
  if (prefix) rest = rest.slice(1);
  // `namespaces/x/status` is about the namespace, `namespaces/x/pods` about its contents.
  const isWithin = rest[0] === 'namespaces' && rest.length > 2 && !['status', 'finalize'].includes(rest[2] ?? '');
  const namespace = isWithin ? (rest[1] ?? '') : '';
  if (isWithin) rest = rest.slice(2);
  const [resource, name = '', subresource = ''] = rest;
  return resource === undefined ? undefined : { group, namespace, resource, name, subresource, prefix };
}

/** Reports whether the parameter is true for the API server: any value except `0` and `false`. */
export function isTrue(search: string, name: string): boolean {
  const value = new URLSearchParams(search).get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** API servers print JSON with white space for the user agents of browsers. */
const printsPretty = /^Mozilla\/5\.0/;

/**
 * Returns the query to send. Adds `pretty=false` for browsers whose query has no `pretty`. Queries of subresources and upgrades are
 * unchanged, because they are also for containers and aggregated services.
 *
 * @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go
 */
export function compactSearch({ search, segments, resource, upgrade }: Target, userAgent: string | undefined): string {
  const isApi = segments[0] === 'api' || segments[0] === 'apis';
  if (!isApi || upgrade !== undefined || resource?.subresource || resource?.prefix === 'proxy') return search;
  if (!printsPretty.test(userAgent ?? '') || new URLSearchParams(search).has('pretty')) return search;
  return `${search.length > 1 ? `${search}&` : '?'}pretty=false`;
}

/** Returns the namespace in which an object is for the authorizer, '' for none: the API server takes a namespace itself as an object within it. */
export const placeOf = ({ group, resource, namespace, name }: Pick<TargetResource, 'group' | 'resource' | 'namespace' | 'name'>): string =>
  namespace || (group === '' && resource === 'namespaces' ? name : '');

/**
 * Returns the question that the API server's authorizer decides for a request; undefined for a path that is no resource.
 *
 * @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go
 */
export function requestedAccess(method: string, { resource: target, search }: Target): ResourceAccess | undefined {
  if (target === undefined) return undefined;
  const { group, resource, subresource } = target;
  const name = target.name || selectedName(search);
  const namespace = placeOf(target);
  return {
    verb: verbOf(method, target, search),
    group,
    resource,
    ...(subresource && { subresource }),
    ...(namespace && { namespace }),
    ...(name && { name }),
  };
}

/** Returns the question for any request. */
export const accessOf = (method: string, target: Target): ViewedAccess =>
  requestedAccess(method, target) ?? { verb: method.toLowerCase(), path: target.path };

/** Returns the question for a call of the service, whose path `resourcePath` built. */
export function accessOfCall({ method, path, search }: { method: string; path: string; search: string }): ViewedAccess {
  const segments = path.slice(1).split('/').map(percentDecoded);
  return accessOf(method, { path, search, segments, resource: resourceOf(segments), upgrade: undefined });
}

const verbs: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch' };

function verbOf(method: string, { name, prefix }: TargetResource, search: string): string {
  const verb = verbs[method];
  if (verb !== undefined) return verb;
  if (method === 'DELETE') return name === '' ? 'deletecollection' : 'delete';
  if (prefix === 'watch') return 'watch';
  if (name !== '') return 'get';
  return isTrue(search, 'watch') ? 'watch' : 'list';
}

/** Returns the name that a field selector requires, or ''. */
function selectedName(search: string): string {
  const selector = new URLSearchParams(search).get('fieldSelector') ?? '';
  return /(?:^|,)metadata\.name==?([^,=!]+)(?:,|$)/.exec(selector)?.[1] ?? '';
}
