import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { agentScope } from '../../../../src/mcp/authorization/agent-scope.ts';
import { eventually, type Manifest, serviceNamespace } from '../../../support/cluster-admin.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { aBinding, aNamespace, aRole, podRule } from '../../access/objects.ts';
import { AccessRequests, aPolicy, mergePatch, user } from '../../access-requests/support.ts';
import { applyKnown } from '../../bindings/support.ts';
import { aUser, nameOf } from '../../users/a-user.ts';
import { startDoor } from '../support.ts';

const mail = 'alice@example.com';
const alice = { user: nameOf(mail) };
const message = '0/3 nodes are available: 3 Insufficient memory.';

const anEvent = (name: string, reason: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace: 'shop' },
  involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'cart' },
  type: 'Warning',
  reason,
  message,
  firstTimestamp: '2026-01-12T10:00:00Z',
  lastTimestamp: `2026-01-12T10:0${name.at(-1)}:00Z`,
  count: 3,
});

const objects: readonly Manifest[] = [
  aNamespace('shop'),
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'cart', namespace: 'shop', labels: { app: 'cart' } },
    spec: { nodeSelector: { disk: 'none' }, containers: [{ name: 'cart', image: 'registry.example.com/cart:1' }] },
  },
  aRole('lists-of-pods', [podRule(['list', 'watch'])]),
  aBinding('lists-of-pods', { role: 'lists-of-pods', to: `ServiceAccount:${serviceNamespace}/atrium` }),
  aRole(
    'shop-reader',
    [
      podRule(['get', 'list'], { resources: ['pods', 'pods/log', 'events'] }),
      { verbs: ['list', 'get'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings', 'roles'] },
    ],
    'shop',
  ),
  aBinding('shop-reader', { role: 'shop-reader', roleKind: 'Role', to: 'User:alice', namespace: 'shop' }),
  aRole('shop-cleaner', [podRule(['delete'])], 'shop'),
  aBinding('shop-cleaner', { role: 'shop-cleaner', roleKind: 'Role', to: 'User:carol', namespace: 'shop' }),
];

describe('tools of agents', () => {
  const door = forSuite(async () => {
    const auditStore = await SqliteStore.open(':memory:');
    const lists = { resources: [{ version: 'v1', resource: 'pods' }] };
    const started = await startDoor(
      { alice, bob: {}, carol: { scope: agentScope } },
      { auditStore, hasWorkloads: true, objects, config: { lists, features: { accessRequests: true } } },
    );
    const stop = async () => {
      await started.stop();
      await auditStore.stop();
    };
    return { ...started, auditStore, stop };
  });
  const call = (name: string, input: Record<string, unknown> = {}) => door.call('alice', name, input);
  const cart = { resource: 'pods', namespace: 'shop', name: 'cart' };

  before(async () => {
    await door.kubernetes.apply(anEvent('e1', 'FailedScheduling'), anEvent('e2', 'FailedMount'));
    await applyKnown(door, ...['alice', 'bob'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
    await new AccessRequests(door).apply(
      aPolicy('shop-edit', { subjects: [user('alice')], approvers: [user('bob')], roleRefs: ['edit'] }),
      aPolicy('at-once', { subjects: [user('alice')], approvals: 0, approvers: [], requireStepUp: true }),
    );
    await eventually(
      () => call('list', { resource: 'pods' }),
      ({ data }) => Array.isArray(data.items) && data.items.length === 1,
    );
  });

  it('describe an object with its state, conditions and events', async () => {
    const status = { status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }] } };
    const patched = await door.kubernetes.call('PATCH', '/api/v1/namespaces/shop/pods/cart/status', status, mergePatch);
    expect(patched.status).to.equal(200);
    const { note, data } = await call('describe', cart);
    expect(note).to.equal('The state of the object, its conditions and its latest events.');
    expect(data).to.have.nested.property('state.word', 'Pending');
    expect(data).to.have.nested.property('metadata.labels.app', 'cart');
    expect((data.state as { reason: string }).reason).to.match(/nodes? are available/);
    expect(JSON.stringify(data.conditions)).to.include('Unschedulable');
    expect(data).to.have.nested.property('troubles[0].reason', 'Unschedulable');
    expect(data).to.have.nested.property('containers[0].image', 'registry.example.com/cart:1');
  });

  it('list events of an object, newest first', async () => {
    const { data } = await call('events', { namespace: 'shop', kind: 'Pod', name: 'cart', type: 'Warning' });
    const reasons = (data.items as { reason: string }[]).map(({ reason }) => reason).filter((reason) => reason.startsWith('Failed'));
    expect(reasons.indexOf('FailedMount')).to.be.lessThan(reasons.lastIndexOf('FailedScheduling'));
    expect((await call('events')).data).to.have.nested.property('error.code', 403);
  });

  it('search objects that the user may list', async () => {
    const { data } = await call('search', { text: 'car' });
    expect(data.items).to.deep.include({ resource: 'pods', name: 'cart', namespace: 'shop', ...pick(data.items) });
    expect((await door.call('bob', 'search', { text: 'car' })).data.items).to.deep.equal([]);
  });

  it('pass on why a container has no logs', async () => {
    const { isError, note, data } = await call('logs', { namespace: 'shop', pod: 'cart', container: 'gone' });
    expect(isError).to.equal(true);
    expect(note).to.be.a('string');
    expect(data).to.have.nested.property('error.code');
  });

  it('list who may do something, for users who may list the bindings', async () => {
    const question = { verb: 'list', resource: 'pods', namespace: 'shop' };
    const { data } = await call('who_can', question);
    expect(JSON.stringify(data.items)).to.include('"name":"shop-reader"');
    expect((await door.call('bob', 'who_can', question)).data).to.have.nested.property('error.code', 403);
  });

  it('say whether the user may do something', async () => {
    expect((await call('may_i', { verb: 'list', resource: 'po', namespace: 'shop' })).data).to.include({ allowed: true });
    expect((await call('may_i', { verb: 'get', resource: 'pods/log', namespace: 'shop' })).data).to.include({ allowed: true });
    expect((await call('may_i', { verb: 'delete', resource: 'pods', namespace: 'shop' })).data).to.include({ allowed: false });
  });

  it('name the rules of the user, and the user', async () => {
    const { data } = await call('my_access', { namespace: 'shop' });
    expect(data).to.include({ user: 'alice', namespace: 'shop' });
    expect(JSON.stringify(data.resourceRules)).to.include('pods/log');
  });

  it('name roles that the user can ask for, and ask for one', async () => {
    const { note, data } = await call('why_not', { verb: 'delete', resource: 'pods', namespace: 'shop' });
    expect(note).to.include('`requestable`');
    expect(data).to.have.nested.property('requestable[0].policy', 'shop-edit');
    const asked = {
      policy: 'shop-edit',
      roleRef: 'edit',
      scope: 'namespace',
      namespaces: ['shop'],
      reason: 'the cart is down',
      durationSeconds: 600,
    };
    const { data: made } = await call('request_access', asked);
    expect(made).to.have.property('phase', 'Pending');
    expect(made.request).to.match(/^areq-/);
  });

  it('explain the rights of the user, also those that the user has not lent', async () => {
    const asked = { verb: 'delete', resource: 'pods', namespace: 'shop' };
    expect((await door.call('carol', 'why_not', asked)).note).to.match(/^The user may do this/);
    expect((await door.call('carol', 'may_i', asked)).data).to.have.property('allowed', false);
    const other = await door.call('carol', 'why_not', { ...asked, namespace: 'default' });
    expect(other.data).to.have.property('allowed', false);
    expect(other.text).not.to.include('scope of the access token');
  });

  it('get no role without approval', async () => {
    const asked = {
      policy: 'at-once',
      roleRef: 'view',
      scope: 'namespace',
      namespaces: ['shop'],
      reason: 'the cart is down',
      durationSeconds: 600,
    };
    const { isError, data } = await call('request_access', asked);
    expect(isError).to.equal(true);
    expect(JSON.stringify(data.error)).to.include('which no agent may ask for');
    expect((await call('request_access', { ...asked, breakGlass: true })).data).to.have.nested.property(
      'error.causes[0].field',
      'breakGlass',
    );
  });

  it('leave an event in the audit with the user, the program, the tool and the objects', async () => {
    await call('get', { resource: 'po', namespace: 'shop', name: 'gone' });
    const { data } = await eventually(
      () => call('activity', { text: 'AgentCalledTool', limit: 100 }),
      ({ data }) => JSON.stringify(data.items ?? []).includes('"gone"'),
    );
    expect(data.scope).to.equal('Own');
    const event = (data.items as { object?: unknown; agent?: { objects: { name?: string }[] } }[]).find(
      ({ agent }) => agent?.objects[0]?.name === 'gone',
    );
    expect(event).to.deep.include({ event: 'AgentCalledTool', outcome: 'failure', code: 404, reason: 'NotFound', user: 'alice' });
    expect(event?.agent).to.deep.equal({
      ...{ client: 'https://agent.example.com/client.json', name: 'Helper', host: 'agent.example.com', tool: 'get' },
      objects: [{ apiGroup: '', resource: 'pods', namespace: 'shop', name: 'gone' }],
    });
  });
});

/** Returns the members of the first item that the test does not compare. */
const pick = (items: unknown): object => {
  const [{ detail, match } = { detail: undefined, match: undefined }] = items as { detail?: unknown; match?: unknown }[];
  return { ...(detail !== undefined && { detail }), match };
};
