/**
 * Subject of a request, read from its path and query: the attributes that authorization decides on and that select the verb.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
 */
import { parseFieldSelector } from '@atrium/objects/selectors.ts';
import { badRequest } from '@atrium/objects/status.ts';

import type { AccessAttributes } from './rbac.ts';

/** Request. Without a resource, it has a verb and a path only. */
export interface RequestInfo extends AccessAttributes {
  path: string;
  isResource: boolean;
  /** True if unknown segments follow the resource. */
  hasMore: boolean;
  query: URLSearchParams;
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
const namespaceSubresources = new Set(['status', 'finalize']);

/** @throws StatusError 400 for a path that does not decode. */
export function requestInfo(method: string, url: string): RequestInfo {
  const at = url.indexOf('?');
  const path = decoded(at < 0 ? url : url.slice(0, at));
  const query = new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
  const [prefix, ...rest] = path.replace(/^\/|\/$/g, '').split('/');
  const other: RequestInfo = { verb: method.toLowerCase(), path, isResource: false, hasMore: false, query };
  const group = prefix === 'apis' ? rest.shift() : '';
  const [version, ...parts] = rest;
  if ((prefix !== 'api' && prefix !== 'apis') || group === undefined || !version || parts.length === 0) return other;
  const namespace = parts[0] === 'namespaces' ? parts[1] : undefined;
  const isInNamespace = parts[0] === 'namespaces' && parts.length > 2 && !namespaceSubresources.has(parts[2] ?? '');
  const [resource = '', name, subresource, ...more] = isInNamespace ? parts.slice(2) : parts;
  const info: RequestInfo = {
    verb: verbs[method] ?? '',
    path,
    isResource: true,
    hasMore: more.length > 0,
    query,
    group,
    version,
    resource,
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(subresource && { subresource }),
  };
  return name ? info : collectionRequest(info);
}

/**
 * Sets the verb of a request without a name, which is a list or a watch. A selector for one name counts as that name, so that resourceNames
 * apply.
 */
function collectionRequest(info: RequestInfo): RequestInfo {
  if (info.verb === 'get') info.verb = isTrue(info.query.get('watch')) ? 'watch' : 'list';
  if (info.verb === 'delete') info.verb = 'deletecollection';
  if (!['list', 'watch', 'deletecollection'].includes(info.verb)) return info;
  const name = selectedName(info.query.get('fieldSelector') ?? '');
  return name ? { ...info, name } : info;
}

function selectedName(fieldSelector: string): string | undefined {
  if (!fieldSelector.includes('metadata.name')) return undefined;
  try {
    const requirement = parseFieldSelector(fieldSelector).find(({ field, operator }) => field === 'metadata.name' && operator === '=');
    return requirement && pathSegmentProblems(requirement.value).length === 0 ? requirement.value : undefined;
  } catch {
    // The list itself reports the invalid selector.
    return undefined;
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest('the path holds a malformed escape');
  }
}

/** Parses boolean parameters like Go. */
export const isTrue = (text: string | null) => text !== null && ['1', 't', 'true', 'T', 'TRUE', 'True', ''].includes(text);

/** Returns the attributes for authorization; a path that is no resource is authorized by its path. */
export function attributesOf(info: RequestInfo): AccessAttributes {
  const { isResource, path, query: _query, hasMore: _more, ...attributes } = info;
  return isResource ? attributes : { verb: info.verb, path };
}

/** Names that only need to be one segment of a path, as those of roles. */
export function pathSegmentProblems(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((character) => name.includes(character)).map((character) => `may not contain '${character}'`);
}
