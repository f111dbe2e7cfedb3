import type { ViewedAccess } from '../http/operation.ts';
import type { ResourceAccess } from '../kubernetes/access.ts';
import { isTrue, type Target, type TargetResource } from './target.ts';

/**
 * Returns the question that the API server's authorizer decides for a request; undefined for a path that is no resource.
 *
 * @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go
 */
export function requestedAccess(method: string, { resource: target, search }: Target): ResourceAccess | undefined {
  if (target === undefined) return undefined;
  const { group, resource, subresource } = target;
  const name = target.name || selectedName(search);
  // The API server takes a namespace itself as an object within it.
  const namespace = target.namespace || (group === '' && resource === 'namespaces' ? target.name : '');
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
