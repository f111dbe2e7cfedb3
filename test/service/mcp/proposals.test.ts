/** Changes that agents propose and people confirm. */
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { directDigest } from '../../../src/config/mcp-section.ts';
import { eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';
import { aUser } from '../users/a-user.ts';
import { startDoor } from './support.ts';

const proposalsPath = '/auth/v1/changeproposals';
const cartPath = '/apis/apps/v1/namespaces/shop/deployments/cart';
const cart = { resource: 'deployments', namespace: 'shop', name: 'cart' };
const reason = 'The cart is slow.';

const aDeployment = (name: string): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'shop', labels: { app: name } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name, image: 'registry.example.com/cart:1' }] } },
  },
});

const rules = [
  { verbs: ['*'], apiGroups: ['apps'], resources: ['deployments'] },
  { verbs: ['*'], apiGroups: [''], resources: ['configmaps', 'secrets'] },
];

const direct = [{ namespaces: ['shop'], verbs: ['patch' as const], resources: ['deployments.apps'] }];

/** Keeps bodies of one namespace. */
const policy = {
  ...{ apiVersion: 'audit.k8s.io/v1', kind: 'Policy' },
  rules: [{ level: 'Request', namespaces: ['shop'] }, { level: 'Metadata' }],
};

const proposal = z.object({
  metadata: z.object({ name: z.string() }),
  phase: z.string(),
  reason: z.string(),
  change: z
    .object({
      before: z.looseObject({ spec: z.looseObject({ replicas: z.number() }).optional() }).optional(),
      after: z.looseObject({ spec: z.looseObject({ replicas: z.number() }).optional() }).optional(),
      resourceVersion: z.string().optional(),
    })
    .optional(),
  refusal: z.object({ code: z.number(), reason: z.string(), message: z.string() }).optional(),
});

describe('changes that agents propose', () => {
  let moved = 0;
  const door = forSuite(async () => {
    const auditStore = await SqliteStore.open(':memory:');
    const started = await startDoor(
      { alice: {}, bob: {}, viewer: {}, carol: { direct: directDigest(direct) }, dave: { direct: directDigest([]) ?? 'other rules' } },
      {
        config: { mcp: { writes: 'direct', direct }, audit: { policy } },
        ...{ auditStore, hasWorkloads: true, now: () => new Date(Date.now() + moved) },
        objects: [
          aNamespace('shop'),
          aDeployment('cart'),
          aRole('shop-editor', rules, 'shop'),
          ...['alice', 'carol', 'dave', 'viewer'].map((name) =>
            aBinding(`editor-${name}`, { role: 'shop-editor', roleKind: 'Role', to: `User:${name}`, namespace: 'shop' }),
          ),
        ],
      },
    );
    const stop = async () => {
      await started.stop();
      await auditStore.stop();
    };
    return { ...started, auditStore, stop };
  });
  afterEach(() => {
    moved = 0;
  });

  const propose = (input: Record<string, unknown>, person = 'alice') => door.call(person, 'propose_change', { reason, ...input });
  const scale = (replicas: unknown, more: Record<string, unknown> = {}) =>
    propose({ ...cart, verb: 'patch', patch: { spec: { replicas } }, ...more });
  const nameIn = ({ data }: { data: Record<string, unknown> }) => z.string().parse(data.proposal);
  const ask = async (path: string, { as = 'alice', body }: { as?: 'alice' | 'bob' | 'viewer'; body?: object } = {}) => {
    const response = await door.request(`${proposalsPath}${path}`, { as, ...(body && { method: 'POST', body }) });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const shown = async (name: string) => proposal.parse((await ask(`/${name}`)).body);
  const cartNow = async () =>
    z
      .looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }), spec: z.looseObject({ replicas: z.number() }) })
      .parse((await door.kubernetes.call('GET', cartPath)).body);
  const confirm = async (name: string, as: 'alice' | 'bob' = 'alice') => {
    const { change } = await shown(name);
    return ask(`/${name}/confirmation`, {
      as,
      body: change?.resourceVersion === undefined ? {} : { resourceVersion: change.resourceVersion },
    });
  };
  const reasonOf = ({ body }: { body: Record<string, unknown> }) =>
    z.object({ details: z.object({ causes: z.array(z.object({ reason: z.string() })) }) }).parse(body).details.causes[0]?.reason;

  it('change nothing until the person confirms, and then with the rights of the person', async () => {
    const before = await cartNow();
    const answer = await scale(2);
    expect(answer.isError, answer.text).to.equal(false);
    expect(answer.note).to.equal(
      'The proposal waits, and nothing has changed yet. The user confirms or rejects it at the URL within ten minutes.',
    );
    expect(answer.data.url).to.equal(`https://console.example.com/proposals/${nameIn(answer)}`);
    expect(answer.data.changes).to.deep.include({ path: 'spec.replicas', from: 1, to: 2 });
    expect(await cartNow()).to.deep.equal(before);

    const { phase, change, reason: told } = await shown(nameIn(answer));
    expect([phase, told]).to.deep.equal(['Open', reason]);
    expect([change?.before?.spec?.replicas, change?.after?.spec?.replicas]).to.deep.equal([1, 2]);
    expect(change?.resourceVersion).to.equal(before.metadata.resourceVersion);

    const { status, body } = await confirm(nameIn(answer));
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.phase).to.equal('Confirmed');
    expect((await cartNow()).spec.replicas).to.equal(2);
    const { events } = await eventually(
      () => door.auditStore.list({ resource: 'deployments', name: 'cart', namespace: 'shop' }, { limit: 5 }),
      ({ events }) => events.some(({ event }) => event === 'ChangeProposalConfirmed'),
    );
    const event = events.find(({ event }) => event === 'ChangeProposalConfirmed');
    expect(event).to.deep.include({
      ...{ verb: 'patch', action: 'scale', outcome: 'success', changes: [{ field: 'spec.replicas', from: 1, to: 2 }] },
      objectRef: { apiGroup: 'apps', resource: 'deployments', namespace: 'shop', name: 'cart' },
      ...{ requestObject: '{"spec":{"replicas":2}}', patchType: 'application/merge-patch+json' },
    });
    expect([event?.user?.username, event?.agent?.name, event?.agent?.host]).to.deep.equal(['alice', 'Helper', 'agent.example.com']);
    expect((await ask(`/${nameIn(answer)}/confirmation`, { body: { resourceVersion: '1' } })).status).to.equal(409);
  });

  it('take a JSON Patch, a new object and a deletion', async () => {
    const patch = [{ op: 'add', path: '/spec/template/spec/containers/0/resources', value: { limits: { memory: '256Mi' } } }];
    expect((await confirm(nameIn(await propose({ ...cart, verb: 'patch', patch })))).status).to.equal(200);
    expect(await cartNow()).to.have.nested.property('spec.template.spec.containers[0].resources.limits.memory', '256Mi');

    const settings = { resource: 'configmaps', namespace: 'shop', name: 'settings' };
    const path = '/api/v1/namespaces/shop/configmaps/settings';
    const created = await propose({ ...settings, verb: 'create', object: { data: { colour: 'red' } } });
    expect(created.data.created).to.deep.include({ kind: 'ConfigMap', data: { colour: 'red' } });
    expect((await door.kubernetes.call('GET', path)).status).to.equal(404);
    expect((await confirm(nameIn(created))).status).to.equal(200);
    expect((await door.kubernetes.call('GET', path)).body).to.deep.include({ data: { colour: 'red' } });

    const deleted = await propose({ ...settings, verb: 'delete' });
    expect((await shown(nameIn(deleted))).change).to.have.all.keys('before', 'resourceVersion');
    expect((await door.kubernetes.call('GET', path)).status).to.equal(200);
    expect((await confirm(nameIn(deleted))).status).to.equal(200);
    expect((await door.kubernetes.call('GET', path)).status).to.equal(404);
  });

  it('are refused for an object that has changed since the person looked', async () => {
    const { replicas } = (await cartNow()).spec;
    const name = nameIn(await scale(7));
    const { change } = await shown(name);
    const merge = { 'content-type': 'application/merge-patch+json' };
    expect((await door.kubernetes.call('PATCH', cartPath, { metadata: { labels: { moved: 'yes' } } }, merge)).status).to.equal(200);
    const refused = await ask(`/${name}/confirmation`, { body: { resourceVersion: change?.resourceVersion } });
    expect([refused.status, refused.body.reason]).to.deep.equal([409, 'Conflict']);
    expect((await cartNow()).spec.replicas).to.equal(replicas);
    expect((await shown(name)).change?.resourceVersion).not.to.equal(change?.resourceVersion);
    expect((await confirm(name)).status).to.equal(200);
    expect((await cartNow()).spec.replicas).to.equal(7);
  });

  it('name the fields of a confirmation that are missing or unknown', async () => {
    const name = nameIn(await scale(3));
    const missing = await ask(`/${name}/confirmation`, { body: {} });
    expect([missing.status, missing.body.message]).to.deep.equal([
      400,
      'resourceVersion: is required for a change or deletion, and forbidden for a creation',
    ]);
    expect((await ask(`/${name}/confirmation`, { body: { force: true } })).status).to.equal(400);
    expect((await ask(`/${name}/rejection`, { body: { why: 'no' } })).status).to.equal(400);
    expect((await shown(name)).phase).to.equal('Open');
    await ask(`/${name}/rejection`, { body: {} });
  });

  it('end when the person rejects them, and after ten minutes', async () => {
    const { metadata, spec } = await cartNow();
    const [rejected, late] = [nameIn(await scale(4)), nameIn(await scale(5))];
    expect((await ask(`/${rejected}/rejection`, { body: {} })).body.phase).to.equal('Rejected');
    expect((await ask(`/${rejected}/confirmation`, { body: { resourceVersion: metadata.resourceVersion } })).status).to.equal(409);
    moved = 601_000;
    expect(await shown(late)).to.deep.include({ phase: 'Expired' });
    expect((await ask(`/${late}/confirmation`, { body: { resourceVersion: metadata.resourceVersion } })).status).to.equal(409);
    expect((await ask(`/${late}/rejection`, { body: {} })).status).to.equal(409);
    expect((await cartNow()).spec.replicas).to.equal(spec.replicas);
    const { items } = (await ask('')).body as { items: { metadata: { name: string }; phase: string; change?: unknown }[] };
    const phases = new Map(items.map((item) => [item.metadata.name, item.phase]));
    expect([phases.get(rejected), phases.get(late)]).to.deep.equal(['Rejected', 'Expired']);
    expect(items.every(({ change }) => change === undefined)).to.equal(true);
  });

  it('are for their person alone', async () => {
    const name = nameIn(await scale(3));
    for (const path of [`/${name}`, '/cp-0d7a6c1e5c5f4a4e9d3c0b2f5f0f6a11'])
      expect((await ask(path, { as: 'bob' })).status, path).to.equal(404);
    for (const end of ['confirmation', 'rejection']) {
      const body = end === 'rejection' ? {} : { resourceVersion: '1' };
      expect((await ask(`/${name}/${end}`, { as: 'bob', body })).status, end).to.equal(404);
    }
    expect((await ask('', { as: 'bob' })).body.items).to.deep.equal([]);
    expect((await door.request(`${proposalsPath}/${name}`)).status).to.equal(401);
    await ask(`/${name}/rejection`, { body: {} });
  });

  it('are kept for changes alone that the person may make', async () => {
    const { isError, data } = await propose({ ...cart, verb: 'patch', patch: { spec: { replicas: 9 } } }, 'bob');
    expect([isError, (data.error as { code: number }).code]).to.deep.equal([true, 403]);
    expect((await ask('', { as: 'bob' })).body.items).to.deep.equal([]);
    const invalid = await scale(-1);
    expect(invalid.data).to.have.nested.property('error.code', 422);
    const gone = await propose({ ...cart, name: 'gone', verb: 'delete' });
    expect(gone.data).to.have.nested.property('error.code', 404);
  });

  it('tell why a change cannot be made any more', async () => {
    const name = nameIn(await propose({ resource: 'configmaps', namespace: 'shop', name: 'twice', verb: 'create', object: {} }));
    await door.kubernetes.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'twice', namespace: 'shop' } });
    const { phase, refusal, change } = await shown(name);
    expect([phase, refusal?.reason, change]).to.deep.equal(['Open', 'AlreadyExists', undefined]);
    expect((await ask(`/${name}/confirmation`, { body: {} })).status).to.equal(409);
  });

  const closed: readonly [string, Record<string, unknown>][] = [
    ['a Secret', { resource: 'secrets', namespace: 'shop', name: 'db', verb: 'create', object: { stringData: { password: 'x' } } }],
    ['a role', { resource: 'roles', namespace: 'shop', name: 'more', verb: 'create', object: { rules: [] } }],
    ['the deletion of a binding', { resource: 'rolebindings', namespace: 'shop', name: 'shop-editor', verb: 'delete' }],
    ['a ClusterRoleBinding', { resource: 'clusterrolebindings', name: 'shop', verb: 'create', object: {} }],
    ['a User', { resource: 'users', name: 'alice', verb: 'patch', patch: { spec: { is_disabled: true } } }],
    ['a session', { resource: 'sessions', namespace: serviceNamespace, name: 's-1', verb: 'delete' }],
    ['a proposal', { resource: 'changeproposals', namespace: serviceNamespace, name: 'cp-1', verb: 'create', object: {} }],
    ['a question about a token', { resource: 'tokenreviews', name: 'one', verb: 'create', object: { spec: { token: 'x' } } }],
    ['a question about a right', { resource: 'selfsubjectaccessreviews', name: 'one', verb: 'create', object: {} }],
    ['a certificate', { resource: 'certificatesigningrequests', name: 'one', verb: 'create', object: {} }],
  ];
  for (const [what, input] of closed)
    it(`never are about ${what}`, async () => {
      const { isError, note, data } = await propose(input);
      expect(note).to.equal('No agent may propose this. Tell the user, who can do it in the console.');
      expect([isError, reasonOf({ body: { details: data.error as object } })]).to.deep.equal([true, 'NotProposable']);
    });

  const deep = JSON.parse(`${'{"a":'.repeat(30)}1${'}'.repeat(30)}`) as object;
  const unreadable: readonly [string, number, Record<string, unknown>][] = [
    ['managedFields', 400, { verb: 'patch', patch: { metadata: { managedFields: [] } } }],
    ['managedFields by an operation', 400, { verb: 'patch', patch: [{ op: 'remove', path: '/metadata/managedFields' }] }],
    ['the whole metadata', 400, { verb: 'patch', patch: [{ op: 'replace', path: '/metadata', value: {} }] }],
    ['the whole object', 400, { verb: 'patch', patch: [{ op: 'replace', path: '', value: {} }] }],
    ['a place that is too deep', 400, { verb: 'patch', patch: [{ op: 'add', path: '/a'.repeat(30), value: 1 }] }],
    ['a value that is too deep', 400, { verb: 'patch', patch: deep }],
    ['more than a person reads', 413, { verb: 'patch', patch: { metadata: { annotations: { long: 'x'.repeat(20_000) } } } }],
    ['nothing', 400, { verb: 'patch' }],
    ['a patch of a deletion', 400, { verb: 'delete', patch: {} }],
    ['an object of a patch', 400, { verb: 'patch', patch: {}, object: {} }],
    ['no reason', 400, { verb: 'delete', reason: ' ' }],
    ['another verb', 400, { verb: 'update', patch: {} }],
    ['a namespace left out', 400, { verb: 'delete', namespace: undefined }],
  ];
  for (const [what, code, input] of unreadable)
    it(`are refused with ${what}`, async () => {
      const { data } = await propose({ ...cart, ...input });
      expect(data).to.have.nested.property('error.code', code);
    });

  it('show characters that an agent could hide, and the copy of the object for kubectl', async () => {
    const applied = 'kubectl.kubernetes.io/last-applied-configuration';
    const patch = { metadata: { annotations: { [applied]: '{}', note: 'safe\u202eefas' } } };
    const name = nameIn(await propose({ ...cart, verb: 'patch', patch, reason: 'It is \u202efine' }));
    const { change, reason: told } = await shown(name);
    expect(told).to.equal('It is \\u202efine');
    expect(change?.after).to.deep.include({ [applied]: '{}' });
    expect(change?.after).to.have.nested.property('metadata.annotations.note', 'safe\\u202eefas');
    expect(change?.after).not.to.have.nested.property('metadata.managedFields');
    await ask(`/${name}/rejection`, { body: {} });
  });

  it('cannot be made or changed at the API server', async () => {
    const name = nameIn(await scale(3));
    const path = `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/changeproposals`;
    const stored = (await door.kubernetes.call('GET', `${path}/${name}`)).body as { metadata: object; spec: object };
    const merge = { 'content-type': 'application/merge-patch+json' };
    expect((await door.kubernetes.call('PATCH', `${path}/${name}`, { spec: { reason: 'Another one.' } }, merge)).status).to.equal(422);
    expect(stored.spec).to.include({ cluster: 'local', verb: 'patch' });
    expect(JSON.stringify(stored.spec)).not.to.include('replicas');
    const copy = 'cp-0d7a6c1e5c5f4a4e9d3c0b2f5f0f6a11';
    const { apiVersion, kind } = { apiVersion: 'auth.platform.io/v1', kind: 'ChangeProposal' };
    const { labels } = stored.metadata as { labels: Record<string, string> };
    const made = { apiVersion, kind, metadata: { name: copy, namespace: serviceNamespace, labels }, spec: stored.spec };
    expect((await door.kubernetes.call('POST', path, made)).status).to.equal(201);
    expect((await ask(`/${copy}`)).status).to.equal(404);
    expect(JSON.stringify((await ask('')).body)).not.to.include(copy);
    await ask(`/${name}/rejection`, { body: {} });
  });

  it('are made at once where the rules have them and the person has allowed just these rules', async () => {
    const made = await propose({ ...cart, verb: 'patch', patch: { spec: { paused: true } } }, 'carol');
    expect(made.note).to.equal('The change is made: the user has allowed changes of this kind without a confirmation.');
    expect(await cartNow()).to.have.nested.property('spec.paused', true);
    const { events } = await eventually(
      () => door.auditStore.list({ actor: 'carol', resource: 'deployments' }, { limit: 5 }),
      ({ events }) => events.length > 0,
    );
    expect(events[0]).to.deep.include({ event: 'AgentChangedObject', verb: 'patch', action: 'pause', outcome: 'success' });
    expect(events[0]).to.include({ requestObject: '{"spec":{"paused":true}}', patchType: 'application/merge-patch+json' });
    expect(events[0]?.agent?.name).to.equal('Helper');

    const resume = { ...cart, verb: 'patch', patch: { spec: { paused: false } } };
    const others: readonly [string, Record<string, unknown>][] = [
      ['alice', resume],
      ['dave', resume],
      ['carol', { ...cart, verb: 'delete' }],
      ['carol', { resource: 'configmaps', namespace: 'shop', name: 'direct', verb: 'create', object: {} }],
    ];
    for (const [person, input] of others) {
      const { note, text } = await propose(input, person);
      expect(note, `${person} ${text}`).to.match(/nothing has changed yet/);
    }
    expect(await cartNow()).to.have.nested.property('spec.paused', true);
    expect((await propose({ ...cart, verb: 'patch', patch: { spec: { replicas: 5 } } }, 'bob')).isError).to.equal(true);
  });

  it('wait for their person in a bounded number', async () => {
    const open = () => ask('').then(({ body }) => (body.items as { phase: string }[]).filter(({ phase }) => phase === 'Open').length);
    for (let left = 20 - (await open()); left > 0; left -= 1) nameIn(await scale(3));
    const { data } = await scale(3);
    expect(data).to.have.nested.property('error.code', 429);
    expect(await open()).to.equal(20);
  });

  it('are not for a later user of the name', async () => {
    moved = -60_000;
    const earlier = nameIn(await propose({ ...cart, verb: 'delete' }, 'viewer'));
    moved = 0;
    expect((await ask(`/${earlier}`, { as: 'viewer' })).body.phase).to.equal('Open');
    await door.kubernetes.apply(aUser('viewer@example.com', { subjectName: 'viewer' }));
    await eventually(
      () => ask(`/${earlier}`, { as: 'viewer' }),
      ({ status }) => status === 404,
    );
    const body = { resourceVersion: (await cartNow()).metadata.resourceVersion };
    expect((await ask(`/${earlier}/confirmation`, { as: 'viewer', body })).status).to.equal(404);
    expect((await ask(`/${earlier}/rejection`, { as: 'viewer', body: {} })).status).to.equal(404);
    expect(JSON.stringify((await ask('', { as: 'viewer' })).body)).not.to.include(earlier);
  });
});
