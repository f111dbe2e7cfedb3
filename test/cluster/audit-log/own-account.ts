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

/** What the service does by itself: follow what it answers from, and share its keys with the other replicas. */
export const byItself: readonly string[] = [
  ...watched.flatMap((resource) => [`list ${resource}`, `watch ${resource}`]),
  'get secrets',
  'create secrets',
  'update secrets',
  // The states of users, by one replica.
  'get leases',
  'create leases',
  'update leases',
  'patch users',
  'patch users/status',
  // Those of groups.
  'patch groups/status',
  // What UserBindings become.
  'patch userbindings',
  'patch userbindings/status',
  'create clusterrolebindings',
  'create events',
];
/** What is not the caller's to read or write where they change users (docs/contract/conventions.md). */
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
/** What a login includes (docs/contract/conventions.md). */
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

/** That the service's own account did nothing else, was refused nothing, and listed once what it then watches. */
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
    // The API server ends the first watches of a kind that has just been defined: then they begin again. Two features follow namespaces.
    expect(lists.length, `lists of ${resource}`).to.be.within(1, resource === 'namespaces' ? 4 : 2);
    expect(asked.map(what), `watches of ${resource}`).to.include(`watch ${resource}`);
  }
}
