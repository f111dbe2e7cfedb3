import type { TokenScope, ViewedAccess } from '@atrium/http/caller.ts';

/** Reviews of access and identity, which create nothing. */
const reviews = [
  'authentication.k8s.io/selfsubjectreviews',
  'authorization.k8s.io/localsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
  'authorization.k8s.io/subjectaccessreviews',
];
const reads = ['get', 'list', 'watch'];
/** Subresources that run something in a container or reach a port. A WebSocket opens them by GET, which RBAC takes for `get`. */
const running = ['exec', 'attach', 'portforward', 'proxy'];
/** Paths that clients ask for before each request. */
const discovery = /^\/(?:api|apis|openapi|version)(?:\/|$)/;

/** Scope of an agent: reads of all but Secrets, and reviews. The rights of the person decide, too. */
export const agentScope: TokenScope = {
  // Only the MCP door accepts the token.
  opens: () => true,
  permits: (access: ViewedAccess) => ('path' in access ? access.verb === 'get' && discovery.test(access.path) : permitsResource(access)),
};

function permitsResource({ verb, group, resource, subresource = '' }: Exclude<ViewedAccess, { path: string }>): boolean {
  if (verb === 'create') return subresource === '' && reviews.includes(`${group}/${resource}`);
  if (!reads.includes(verb) || running.includes(subresource)) return false;
  // A wildcard covers Secrets.
  return resource !== '*' && !(resource === 'secrets' && ['', '*'].includes(group));
}
