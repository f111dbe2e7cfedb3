import { expect } from 'chai';
import { type AuditEvent, isOwn, what } from './audit-log.ts';

export const watched: readonly string[] = [
  'users',
  'sessions',
  'revokedtokens',
  'accesstokens',
  'groups',
  'userbindings',
  'namespaces',
  'consoleplugins',
  'configmaps',
  'roles',
  'rolebindings',
  'clusterroles',
  'clusterrolebindings',
];

/** Calls without a request: watches of the caches, keys shared with other replicas, and controllers. */
export const byItself: readonly string[] = [
  ...watched.flatMap((resource) => [`list ${resource}`, `watch ${resource}`]),
  'get secrets',
  'create secrets',
  'update secrets',
  // The leader reconciles the states of users.
  'get leases',
  'create leases',
  'update leases',
  'patch users',
  'patch users/status',
  // The leader reconciles the states of groups.
  'patch groups/status',
  // The leader creates RBAC from UserBindings.
  'patch userbindings',
  'patch userbindings/status',
  'create clusterrolebindings',
  'create events',
];
/** Calls of operations on users that callers have no permission for (docs/contract/conventions.md). */
export const forUsers: readonly string[] = [
  'create selfsubjectrulesreviews',
  'get users',
  'get groups',
  'create accesstokens',
  'create certificatesigningrequests',
  'update certificatesigningrequests/approval',
  'get certificatesigningrequests',
  'delete certificatesigningrequests',
];
/** Calls of a login (docs/contract/conventions.md). */
export const forLogIns: readonly string[] = [
  'get users',
  'create users',
  'patch users',
  'patch users/status',
  'create sessions',
  'get sessions',
  'patch sessions',
  'delete sessions',
  'create revokedtokens',
  'create events',
];

/** Requires that the service account made only allowed calls without a refusal, and listed each watched resource once. */
export function expectOwnAccount(events: readonly AuditEvent[], allowed: readonly string[]): void {
  const own = events.filter(isOwn);
  expect(new Set(own.map(what).filter((one) => !allowed.includes(one)))).to.deep.equal(new Set());
  expect(own.filter(({ responseStatus: { code } }) => code === 401 || code === 403)).to.deep.equal([]);
  const secrets = own.filter(({ objectRef }) => objectRef?.resource === 'secrets');
  expect(new Set(secrets.map(({ objectRef }) => `${objectRef?.namespace}/${objectRef?.name}`))).to.deep.equal(
    new Set(['atrium-system/atrium-keys']),
  );
  for (const resource of watched) {
    const asked = own.filter(({ objectRef }) => objectRef?.resource === resource);
    const lists = asked.filter(({ verb, requestURI }) => verb === 'list' && !/continue=|Selector=/.test(requestURI));
    // The API server ends the first watches of a newly defined kind, so these begin again. Two features watch namespaces.
    expect(lists.length, `lists of ${resource}`).to.be.within(1, resource === 'namespaces' ? 4 : 2);
    expect(asked.map(what), `watches of ${resource}`).to.include(`watch ${resource}`);
  }
}
