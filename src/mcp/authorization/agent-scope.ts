import type { TokenScope, ViewedAccess } from '@atrium/http/caller.ts';
import { discoveryPaths } from '@atrium/http/scope.ts';
import { runningSubresources } from '@atrium/kubernetes/opened-connection.ts';

/** Reviews of access and identity, which create nothing. */
const reviews = [
  'authentication.k8s.io/selfsubjectreviews',
  'authorization.k8s.io/localsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
  'authorization.k8s.io/subjectaccessreviews',
];
const reads = ['get', 'list', 'watch'];

/** Scope of an agent: reads of all but Secrets, and reviews. The rights of the person decide, too. */
export const agentScope: TokenScope = {
  // Only the MCP door accepts the token.
  opens: () => true,
  permits: (access: ViewedAccess) =>
    'path' in access ? access.verb === 'get' && discoveryPaths.test(access.path) : permitsResource(access),
};

function permitsResource({ verb, group, resource, subresource = '' }: Exclude<ViewedAccess, { path: string }>): boolean {
  if (verb === 'create') return subresource === '' && reviews.includes(`${group}/${resource}`);
  if (!reads.includes(verb) || runningSubresources.includes(subresource)) return false;
  // A wildcard covers Secrets.
  return resource !== '*' && !(resource === 'secrets' && ['', '*'].includes(group));
}
