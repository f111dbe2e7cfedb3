import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import type { AuditEvent as Recorded } from '../../../src/audit/audit.ts';
import { type AuditName, auditEvents, type EventRights } from '../../../src/audit/audit-events.ts';
import { storing } from '../../../src/audit/stored-event.ts';
import { directDigest } from '../../../src/config/mcp-section.ts';
import { eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';
import { startDoor } from '../mcp/support.ts';
import { anEvent, firstEvent, forManager, itemOf, newerEvents, until, withStore } from './support.ts';

const apiGroups = ['auth.platform.io'];

interface Use {
  /** The one rule of a role. */
  rule: Parameters<typeof aRole>[1][number];
  /** Namespace of the binding; undefined for one of the cluster. */
  namespace?: string;
  event: Partial<Recorded>;
}

const target = { name: 'someone', uid: 'u1' };

const ofWrite: Use = {
  rule: { verbs: ['patch'], apiGroups: ['apps'], resources: ['deployments'] },
  namespace: 'shop',
  event: { write: { verb: 'patch', apiGroup: 'apps', resource: 'deployments', namespace: 'shop', name: 'cart' } },
};

const review = (verb: string, reason: string): Use => ({
  rule: { verbs: [verb], apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'] },
  namespace: 'shop',
  event: { target, reason, binding: 'RoleBinding/shop/dev-edit' },
});

/** Uses of rights that hold in a namespace. */
const placed: Readonly<Record<string, Omit<Use, 'rule'>>> = {
  'delete sessions': { namespace: serviceNamespace, event: { target } },
  'list audits': { namespace: 'shop', event: { question: 'namespace=shop&verb=delete' } },
  'create simulations': { namespace: 'shop', event: { namespace: 'shop' } },
  'list recordings': { namespace: 'shop', event: { question: 'namespace=shop&view=Recordings' } },
  'get recordings': { namespace: 'shop', event: { target, namespace: 'shop' } },
  'delete recordings': { namespace: 'shop', event: { target, namespace: 'shop' } },
};

function usesOf(rights: EventRights): Use[] {
  if (rights === 'write') return [ofWrite];
  if (rights === 'review') return [review('update', 'Kept'), review('update', 'Shortened'), review('delete', 'Ended')];
  if (rights === 'impersonation')
    return [{ rule: { verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['someone'] }, event: { target } }];
  return rights.map((right) => {
    const [verb = '', what = ''] = right.split(' ');
    const rule = what.startsWith('/') ? { verbs: [verb], nonResourceURLs: [what] } : { verbs: [verb], apiGroups, resources: [what] };
    return { rule, event: { target }, ...placed[right] };
  });
}

const uses = Object.entries(auditEvents).flatMap(([name, { rights = [] }]: [string, { when: string; rights?: EventRights }]) =>
  usesOf(rights).map((use, index) => ({ ...use, name: name as AuditName, id: `${name.toLowerCase()}-${index}` })),
);

describe('the rights of which events of the service are a use', () => {
  const server = forSuite(() => withStore());

  before(async () => {
    await server.kubernetes.apply(
      ...uses.flatMap(({ id, rule, namespace }) => [
        aRole(id, [rule]),
        aBinding(id, { role: id, to: `User:${id}@example.com`, ...(namespace !== undefined && { namespace }) }),
      ]),
    );
    const stored: Parameters<Parameters<typeof storing>[0]['record']>[0][] = [];
    const record = storing({ record: (event) => stored.push(event) }, undefined);
    for (const { name, id, event } of uses)
      record(
        { audit: name, outcome: 'success', actor: { name: `${id}@example.com`, uid: '' }, ...event },
        { time: new Date(Date.now() + 1000), traceID: undefined },
      );
    await server.kept.append([firstEvent(), ...stored, ...uses.flatMap(({ id }) => newerEvents(`${id}@example.com`))]);
    await until(server, ...uses.map(({ id }) => id));
  });

  for (const { name, id, rule, namespace } of uses)
    it(`uses of ${rule.verbs} ${rule.resources ?? rule.nonResourceURLs} are seen in ${name}`, async () => {
      const item = await itemOf(server, id);
      expect(item?.use).to.deep.include({ state: 'Used', users: 1 });
      if (namespace !== undefined) expect((await itemOf(server, id, `&namespace=${namespace}`))?.use.state).to.equal('Used');
    });
});

describe('standing access and a Namespace object', () => {
  const server = forSuite(() => withStore());

  it('counts its change as use of a right in the namespace, behind newer events and for a question about the namespace', async () => {
    await server.kubernetes.apply(
      aRole('labels', [{ apiGroups: [''], resources: ['namespaces'], verbs: ['patch'] }]),
      aBinding('labels', { role: 'labels', to: 'User:alice', namespace: 'shop' }),
      aBinding('labels-elsewhere', { role: 'labels', to: 'User:alice', namespace: 'vault' }),
    );
    const objectRef = { apiGroup: '', resource: 'namespaces', name: 'shop' };
    // The audit begins with its first event, and a question is one, too.
    await server.kept.append([firstEvent(), anEvent('labelled', 'alice', { verb: 'patch', objectRef }), ...newerEvents('alice')]);
    await until(server, 'labels', 'labels-elsewhere');
    expect((await itemOf(server, 'labels'))?.use.state).to.equal('Used');
    expect((await itemOf(server, 'labels', '&namespace=shop'))?.use.state).to.equal('Used');
    expect((await itemOf(server, 'labels-elsewhere'))?.use.state).to.equal('NotSeen');
    expect((await itemOf(server, 'labels-elsewhere', '&namespace=vault'))?.use.state).to.equal('NotSeen');
  });
});

const direct = [{ namespaces: ['shop'], verbs: ['patch' as const], resources: ['deployments.apps'] }];

const aDeployment: Manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'cart', namespace: 'shop' },
  spec: {
    selector: { matchLabels: { app: 'cart' } },
    template: { metadata: { labels: { app: 'cart' } }, spec: { containers: [{ name: 'cart', image: 'registry.example.com/cart:1' }] } },
  },
};

describe('standing access of a user who works through an agent', () => {
  const door = forSuite(async () => {
    const auditStore = await SqliteStore.open(':memory:');
    const started = await startDoor(
      { alice: {}, carol: { direct: directDigest(direct) } },
      {
        config: { mcp: { writes: 'direct', direct } },
        ...{ auditStore, hasWorkloads: true },
        objects: [
          aNamespace('shop'),
          aDeployment,
          ...forManager,
          aRole('editors', [{ verbs: ['get', 'patch'], apiGroups: ['apps'], resources: ['deployments'] }]),
          ...['alice', 'carol'].map((name) => aBinding(`editor-${name}`, { role: 'editors', to: `User:${name}`, namespace: 'shop' })),
        ],
      },
    );
    await auditStore.append([firstEvent()]);
    const stop = async () => {
      await started.stop();
      await auditStore.stop();
    };
    return { ...started, auditStore, stop };
  });

  const scale = async (person: string, replicas: number) => {
    const change = { resource: 'deployments', namespace: 'shop', name: 'cart', verb: 'patch', patch: { spec: { replicas } } };
    const answer = await door.call(person, 'propose_change', { reason: 'The cart is slow.', ...change });
    expect(answer.isError, answer.text).to.equal(false);
    return answer;
  };
  const untilUsed = (name: string) =>
    eventually(
      () => itemOf(door, name),
      (item) => item?.use.state === 'Used',
    );

  before(() => until(door, 'editor-alice', 'editor-carol'));

  it('counts a change that the user confirms', async () => {
    const { data } = await scale('alice', 2);
    expect((await itemOf(door, 'editor-alice'))?.use.state).to.equal('NotSeen');
    const path = `/auth/v1/changeproposals/${data.proposal}`;
    const { change } = (await (await door.request(path, { as: 'alice' })).json()) as { change: { resourceVersion: string } };
    const { resourceVersion } = change;
    expect((await door.request(`${path}/confirmation`, { method: 'POST', as: 'alice', body: { resourceVersion } })).status).to.equal(200);
    const item = await untilUsed('editor-alice');
    expect(item?.use).to.deep.include({ state: 'Used', users: 1 });
  });

  it('counts a change that the agent makes at once', async () => {
    expect((await itemOf(door, 'editor-carol'))?.use.state).to.equal('NotSeen');
    await scale('carol', 3);
    await untilUsed('editor-carol');
  });
});
