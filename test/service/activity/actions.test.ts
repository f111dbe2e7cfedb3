import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { type AuditEventList, auditEventList } from '../../../src/activity/schema.ts';
import { toldBy } from '../../../src/audit/written-action.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

type Event = AuditEventList['items'][number];

const door = '/api/kubernetes';
const deployment = `${door}/apis/apps/v1/namespaces/default/deployments/cart`;
const cronJob = `${door}/apis/batch/v1/namespaces/default/cronjobs/report`;
const node = `${door}/api/v1/nodes/node-1`;
const rbac = `${door}/apis/rbac.authorization.k8s.io/v1`;
const types = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};
const labels = { app: 'cart' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'cart', image: 'cart:1' }] } };
const jobTemplate = { spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'report', image: 'report:1' }] } } } };
const restartedAt = 'kubectl.kubernetes.io/restartedAt';
const restart = { spec: { template: { metadata: { annotations: { [restartedAt]: '2026-01-12T10:00:00Z' } } } } };

async function withStore() {
  const auditStore = await SqliteStore.open(':memory:');
  const server = await startServer({
    auditStore,
    hasWorkloads: true,
    objects: [
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } },
      {
        ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'cart', namespace: 'default' } },
        spec: { replicas: 2, selector: { matchLabels: labels }, template },
      },
      {
        ...{ apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'report', namespace: 'default' } },
        spec: { schedule: '0 * * * *', jobTemplate },
      },
    ],
  });
  let count = 0;
  return {
    ...server,
    /** Makes a request, and returns its event. */
    async eventOf(method: string, path: string, body: unknown, type = 'application/json'): Promise<Event> {
      count += 1;
      const headers = { 'content-type': type, 'x-request-id': `write-${count}` };
      const { status } = await server.request(path, { method, as: 'admin', body, headers });
      expect(status, JSON.stringify(body)).to.be.lessThan(300);
      const [event] = await eventually(
        async () => {
          const answer = await server.request(`/auth/v1/audit?request=write-${count}`, { as: 'admin' });
          return auditEventList.parse(await answer.json()).items;
        },
        ({ length }) => length > 0,
      );
      return event ?? expect.fail('no event');
    },
    async stop() {
      await server.stop();
      await auditStore.stop();
    },
  };
}

describe('events of writes', () => {
  const server = forSuite(withStore);

  for (const [action, path, type, body] of [
    ['restart', deployment, 'strategic', restart],
    ['restart', deployment, 'merge', { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'cart' }, ...restart }],
    ['label', deployment, 'merge', { metadata: { labels: { team: 'shop', old: null } } }],
    ['label', deployment, 'json', [{ op: 'add', path: '/metadata/labels/tier', value: 'web' }]],
    ['annotate', deployment, 'merge', { metadata: { annotations: { 'example.com/owner': 'ada' } } }],
    ['annotate', deployment, 'json', [{ op: 'replace', path: '/metadata/annotations/example.com~1owner', value: 'noa' }]],
    ['pause', deployment, 'merge', { spec: { paused: true } }],
    ['resume', deployment, 'merge', { spec: { paused: null } }],
    ['suspend', cronJob, 'merge', { spec: { suspend: true } }],
    ['resume', cronJob, 'strategic', { spec: { suspend: false } }],
    ['cordon', node, 'strategic', { spec: { unschedulable: true } }],
    ['uncordon', node, 'strategic', { spec: { unschedulable: null } }],
  ] as const)
    it(`tell ${action} for a patch of type ${type} ${JSON.stringify(body).slice(0, 60)}`, async () => {
      const event = await server.eventOf('PATCH', path, body, types[type]);
      expect(event.action).to.equal(action);
      expect(event).not.to.have.property('requestObject');
    });

  it('tell the number of replicas that a patch sets, and none before it', async () => {
    const event = await server.eventOf('PATCH', deployment, { spec: { replicas: 3 } }, types.merge);
    expect(event).to.deep.include({ action: 'scale', changes: [{ field: 'spec.replicas', to: 3 }] });
    const twice = [4, 40].map((value) => ({ op: 'replace', path: '/spec/replicas', value }));
    const last = await server.eventOf('PATCH', deployment, twice, types.json);
    expect(last).to.deep.include({ action: 'scale', changes: [{ field: 'spec.replicas', to: 40 }] });
  });

  it('tell no action for a patch that also does something else', async () => {
    const image = { spec: { template: { spec: { containers: [{ name: 'cart', image: 'cart:2' }] } } } };
    const { annotations } = restart.spec.template.metadata;
    for (const [type, body] of [
      ['strategic', { spec: { template: { metadata: { annotations }, ...image.spec.template } } }],
      ['strategic', image],
      ['merge', { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } }],
      ['merge', { metadata: { labels: { e: 'f' } }, spec: { replicas: 4 } }],
      [
        'json',
        [
          { op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'cart:3' },
          { op: 'add', path: '/metadata/labels/g', value: 'h' },
        ],
      ],
      ['json', [{ op: 'copy', from: '/metadata/labels/g', path: '/metadata/labels/i' }]],
    ] as const) {
      const event = await server.eventOf('PATCH', deployment, body, types[type]);
      expect([event.verb, event.action], JSON.stringify(body)).to.deep.equal(['patch', undefined]);
    }
  });

  it('tell nothing of the body of a Secret', async () => {
    const secret = `${door}/api/v1/namespaces/default/secrets`;
    await server.eventOf('POST', secret, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'db' }, stringData: { a: 'b' } });
    const event = await server.eventOf('PATCH', `${secret}/db`, { metadata: { labels: { a: 'b' } } }, types.merge);
    expect(event).not.to.have.any.keys('action', 'changes', 'requestObject');
  });

  it('tell which role a new binding gives to whom, and find it by the action and its words', async () => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' };
    const subjects = [
      { kind: 'User', apiGroup: roleRef.apiGroup, name: 'noa@example.com' },
      { kind: 'ServiceAccount', name: 'build', namespace: 'ci' },
    ];
    const binding = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name: 'editors' }, roleRef, subjects };
    const event = await server.eventOf('POST', `${rbac}/namespaces/default/rolebindings`, binding);
    const grant = { role: 'ClusterRole/edit', subjects: ['User/noa@example.com', 'ServiceAccount/ci/build'] };
    expect(event).to.deep.include({ action: 'grant', grant });
    for (const query of ['action=grant&text=edit', 'text=grant%20noa', 'action=grant&actor=admin']) {
      const { items } = auditEventList.parse(await (await server.request(`/auth/v1/audit?${query}`, { as: 'admin' })).json());
      expect(
        items.map(({ auditID }) => auditID),
        query,
      ).to.deep.equal([event.auditID]);
    }
  });

  it('tell the namespaces and the end of a new UserBinding', () => {
    const about = { verb: 'create', group: 'auth.platform.io', resource: 'userbindings', subresource: '' };
    const told = (spec: object) =>
      toldBy({ ...about, name: '', namespace: '' }, 'application/json', {
        spec: { roleRef: 'edit', subjects: [{ kind: 'Group', name: 'dev' }], ...spec },
      });
    const grant = { role: 'ClusterRole/edit', subjects: ['Group/dev'] };
    expect(told({})).to.deep.equal({ action: 'grant', grant });
    const bounded = { scope: 'namespace', constraint: [{ namespace: 'shop' }], expiresAt: '2035-01-12T12:00:00Z' };
    expect(told(bounded)).to.deep.equal({ action: 'grant', grant: { ...grant, namespaces: ['shop'], until: bounded.expiresAt } });
  });

  it('tell the container, image and command of a debug container, cut like those of exec', async () => {
    const pods = `${door}/api/v1/namespaces/default/pods`;
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'cart' }, spec: template.spec };
    await server.eventOf('POST', pods, pod);
    const long = `${'x'.repeat(255)}\u{1f600}`;
    const debug = { name: 'debugger', image: 'busybox:1', command: ['sh', '-c'], args: [long], stdin: true, tty: true };
    const patch = { spec: { ephemeralContainers: [debug] } };
    const event = await server.eventOf('PATCH', `${pods}/cart/ephemeralcontainers`, patch, types.strategic);
    const told = { container: 'debugger', image: 'busybox:1', command: ['sh', '-c', `${'x'.repeat(255)}\ufffd`], tty: true };
    expect(event.connection).to.deep.equal(told);
    const about = { ...{ verb: 'patch', group: '', resource: 'pods', subresource: 'ephemeralcontainers' }, name: 'cart' };
    for (const path of ['/spec/ephemeralContainers', '/spec/ephemeralContainers/-'])
      expect(toldBy(about, types.json, [{ op: 'add', path, value: path.endsWith('-') ? debug : [debug] }])).to.deep.equal({
        connection: told,
      });
    const two = { spec: { ephemeralContainers: [debug, { ...debug, name: 'other' }] } };
    expect(toldBy(about, types.strategic, two)).to.deep.equal({});
  });

  it('tell whether a certificate was approved or denied', () => {
    const about = { verb: 'update', group: 'certificates.k8s.io', resource: 'certificatesigningrequests', subresource: 'approval' };
    const told = (...types: string[]) =>
      toldBy({ ...about, name: 'a', namespace: '' }, 'application/json', {
        status: { conditions: types.map((type) => ({ type })) },
      }).action;
    expect([told('Approved'), told('Denied'), told('Failed', 'Denied'), told(), told('Approved', 'Denied')]).to.deep.equal([
      'approve',
      'deny',
      'deny',
      undefined,
      undefined,
    ]);
  });
});
