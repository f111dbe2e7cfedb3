import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { aBinding, aRole } from '../access/objects.ts';
import { aUser } from '../users/a-user.ts';
import { anEvent, daysAgo, firstEvent, itemOf, newerEvents, standing, until, withStore } from './support.ts';

/** A request that the API server told. */
const aRequest = (auditID: string, username: string, reason: string, parts: Partial<AuditEvent> = {}): AuditEvent =>
  anEvent(auditID, username, {
    source: 'kube-apiserver',
    annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': reason },
    ...parts,
  });

describe('standing access and requests straight to the API server', () => {
  const server = forSuite(() => withStore());
  const silent = forSuite(() => withStore());

  before(async () => {
    await server.kubernetes.apply(
      aUser('omar@example.com', { groups: ['ops'] }),
      aBinding('restarter', { role: 'restarts', to: 'User:alice', namespace: 'shop' }),
      aBinding('by-certificate', { role: 'restarts', to: 'Group:certificates', namespace: 'shop' }),
      aBinding('by-nobody', { role: 'restarts', to: 'Group:nobody', namespace: 'shop' }),
      aBinding('by-ops', { role: 'restarts', to: 'Group:ops', namespace: 'shop' }),
      aUser('ada@example.com', { groups: ['leads'] }),
      aBinding('by-leads', { role: 'restarts', to: 'Group:leads', namespace: 'shop' }),
      aBinding('everywhere', { role: 'restarts', to: 'Group:certificates' }),
      aRole('reads-secrets', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]),
      aBinding('robot', { role: 'reads-secrets', to: 'ServiceAccount:shop/robot', namespace: 'shop' }),
    );
    const secret = { verb: 'get', objectRef: { apiGroup: '', resource: 'secrets', namespace: 'shop', name: 'db' } };
    const toGroup = 'RBAC: allowed by RoleBinding "by-certificate/shop" of ClusterRole "restarts" to Group "certificates"';
    const toRobot = 'RBAC: allowed by RoleBinding "robot/shop" of ClusterRole "reads-secrets" to ServiceAccount "robot/shop"';
    await server.kept.append([
      firstEvent(),
      aRequest('by-alice', 'alice', ''),
      ...newerEvents('alice'),
      aRequest('first-by-ivan', 'ivan', toGroup),
      aRequest('by-ivan', 'ivan', toGroup, { requestReceivedTimestamp: new Date(Date.now() + 30_000).toISOString() }),
      aRequest('dry-run', 'eve', toGroup, { dryRun: true }),
      aRequest('by-lead', 'lead-by-certificate', toGroup.replace('by-certificate', 'by-leads').replace('certificates', 'leads')),
      aRequest('by-robot', 'system:serviceaccount:shop:robot', toRobot, secret),
    ]);
    await silent.kept.append([aRequest('long-ago', 'alice', '', { requestReceivedTimestamp: daysAgo(400) })]);
    await until(silent, 'auditor');
    await until(server, 'restarter', 'by-certificate', 'by-nobody', 'by-ops', 'by-leads', 'everywhere');
  });

  it('counts them as use by a holder', async () => {
    const item = await itemOf(server, 'restarter');
    expect(item?.use).to.deep.include({ state: 'Used', users: 1 });
    expect(item?.use.state === 'Used' && item.use.last.auditID).to.equal('by-alice');
  });

  it('are told by the answer, unless they are older than its time', async () => {
    expect((await standing(server)).directRequests).to.equal('Seen');
    expect((await standing(silent)).directRequests).to.equal('NotSeen');
  });

  it('takes the members of a group that no User record has for unknown', async () => {
    const item = await itemOf(server, 'by-nobody');
    expect([item?.people, item?.use]).to.deep.equal([0, { state: 'Unknown', reason: 'MembersUnknown' }]);
    expect((await itemOf(server, 'by-ops'))?.use.state).to.equal('NotSeen');
  });

  it('finds a use by a user who is not known, of the binding that the API server names', async () => {
    const item = await itemOf(server, 'by-certificate');
    expect(item?.use).to.deep.include({ state: 'Used', users: 1, atLeast: true });
    expect(item?.use.state === 'Used' && [item.use.last.auditID, item.use.last.user]).to.deep.equal(['by-ivan', 'ivan']);
    expect((await itemOf(server, 'by-certificate', '&namespace=shop'))?.use.state).to.equal('Used');
    expect((await itemOf(server, 'everywhere'))?.use).to.deep.equal({ state: 'Unknown', reason: 'MembersUnknown' });
  });

  it('finds a use by a further member of a group that User records have', async () => {
    const item = await itemOf(server, 'by-leads');
    expect([item?.people, item?.findings]).to.deep.equal([1, []]);
    expect(item?.use).to.deep.include({ state: 'Used', users: 1, atLeast: true });
    expect(item?.use.state === 'Used' && item.use.last.user).to.equal('lead-by-certificate');
  });

  it('finds a use by a ServiceAccount', async () => {
    expect((await itemOf(server, 'robot', '&holders=All'))?.use).to.deep.include({ state: 'Used', users: 1, atLeast: true });
  });
});
