import { expect } from 'chai';
import { afterEach, before, describe, it } from 'mocha';
import { z } from 'zod';
import { type ProxiedRequest, refuse } from '../../cluster/faults/fault-proxy.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { failure, isReview, list, listPods, opinion, path } from './namespaces-support.ts';
import { aBinding, accountToken, aNamespace, aRole, bindingPath, podRule, rbacGroup } from './objects.ts';

type As = Person | { token: string };

const merge = { 'content-type': 'application/merge-patch+json' };

describe('GET /auth/v1/namespaces', () => {
  const server = forSuite(() => startFaultyServer());

  const get = (query = '', as: As = 'alice') =>
    server.request(query.startsWith('/') ? query : `${listPods}${query}`, typeof as === 'string' ? { as } : as);
  const ask = async (query = '', as: As = 'alice') => {
    const response = await get(query, as);
    const body = await response.json();
    expect(response.status, JSON.stringify(body)).to.equal(200);
    return list.parse(body);
  };
  const names = async (query = '', as: As = 'alice') => (await ask(query, as)).items.map(({ metadata }) => metadata.name);
  const untilNames = (wanted: readonly string[], query = '', as: As = 'alice') =>
    eventually(
      () => names(query, as),
      (given) => given.join() === wanted.join(),
    );

  before(async () => {
    await server.kubernetes.apply(
      ...['blue', 'green', 'red', 'secret', 'yellow'].map((name) => aNamespace(name, { team: name, zone: name === 'red' ? 'x' : 'y' })),
      aRole('pod-viewer', [podRule(['get', 'list'])]),
      aRole('named-pod', [podRule(['get', 'list'], { resourceNames: ['web'] })]),
      aRole('everything', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]),
      aRole('logs', [
        podRule(['get'], { resources: ['*/log'] }),
        podRule(['update'], { apiGroups: ['apps'], resources: ['deployments/scale'] }),
      ]),
      aRole('some-namespaces', [podRule(['get'], { resources: ['namespaces'], resourceNames: ['red', 'green', 'gone'] })]),
      aRole('keeper', [podRule(['list'])], 'yellow'),
      aBinding('alice-blue', { role: 'pod-viewer', to: 'User:alice', namespace: 'blue' }),
      aBinding('alice-red', { role: 'everything', to: ['User:carol', 'User:alice'], namespace: 'red' }),
      aBinding('alice-named', { role: 'named-pod', to: 'User:alice', namespace: 'green' }),
      aBinding('alice-yellow', { role: 'keeper', roleKind: 'Role', to: 'User:alice', namespace: 'yellow' }),
      aBinding('alice-logs', { role: 'logs', to: 'User:alice', namespace: 'secret' }),
      aBinding('bob-names', { role: 'some-namespaces', to: 'User:bob' }),
      aBinding('viewer-all', { role: 'pod-viewer', to: 'User:viewer' }),
    );
    await untilNames(['blue', 'red', 'yellow']);
    await eventually(
      () => names('', 'viewer'),
      (given) => given.includes('secret'),
    );
    await untilNames(['green', 'red'], `${path}?verb=get&resource=namespaces`, 'bob');
    await untilNames(['red', 'secret'], `${path}?verb=get&resource=pods&subresource=log`);
  });

  it('lists, for callers who may not list namespaces, those in which they may act, with name and labels only', async () => {
    const { total, items, metadata } = await ask();

    expect([total, metadata.continue, metadata.remainingItemCount]).to.deep.equal([3, '', 0]);
    expect(items.map(({ metadata: { name, labels } }) => [name, labels.team])).to.deep.equal([
      ['blue', 'blue'],
      ['red', 'red'],
      ['yellow', 'yellow'],
    ]);
    expect((await names(`${path}?verb=list&resource=namespaces`)).filter((name) => name !== 'red')).to.deep.equal([]);
  });

  it('discloses no namespaces without a permission, nor their number', async () => {
    expect(await ask('', 'nobody')).to.deep.include({ total: 0, items: [] });
    const text = await (await get('&limit=1')).text();
    expect(text).not.to.contain('secret');
    expect(list.parse(JSON.parse(text))).to.have.nested.property('metadata.remainingItemCount', 2);
  });

  it('does not take a rule for some names for the right to list', async () => {
    expect(await names()).not.to.include('green');
    expect(await names(`${path}?verb=get&resource=pods`)).not.to.include('green');
  });

  it('knows verbs, groups, subresources and wildcards', async () => {
    expect(await names(`${path}?verb=delete&resource=pods`)).to.deep.equal(['red']);
    expect(await names(`${path}?verb=get&resource=pods&subresource=log`)).to.deep.equal(['red', 'secret']);
    expect(await names(`${path}?verb=update&resource=deployments&group=apps&subresource=scale`)).to.deep.equal(['red', 'secret']);
    expect(await names(`${path}?verb=update&resource=deployments&subresource=scale`)).to.deep.equal(['red']);
    expect(await names(`${path}?verb=*&resource=*&group=*`)).to.deep.equal(['red']);
  });

  it('asks about a namespace itself by its name', async () => {
    expect(await names(`${path}?verb=get&resource=namespaces`, 'bob')).to.deep.equal(['green', 'red']);
    expect(await names(`${path}?verb=get&resource=namespaces`)).to.deep.equal(['red']);
  });

  it('recognizes callers who may do it everywhere, and callers who may do everything', async () => {
    const all = await names('', 'viewer');
    expect(all).to.include.members(['blue', 'green', 'red', 'secret', 'yellow', 'default', 'kube-system']);
    expect(await names('', 'admin')).to.deep.equal(all);
    expect(await names(`${path}?verb=delete&resource=pods`, 'viewer')).to.deep.equal([]);
  });

  it('knows service accounts by their names and by their groups', async () => {
    const token = await accountToken(server.kubernetes, 'blue', 'builder');
    await server.kubernetes.apply(
      aBinding('builder-red', { role: 'pod-viewer', to: 'ServiceAccount:blue/builder', namespace: 'red' }),
      aBinding('accounts-of-blue', { role: 'pod-viewer', to: 'Group:system:serviceaccounts:blue', namespace: 'green' }),
      aBinding('everybody', { role: 'pod-viewer', to: 'Group:system:authenticated', namespace: 'kube-public' }),
      aBinding('like-an-account', { role: 'pod-viewer', to: 'User:system:serviceaccount:blue:builder', namespace: 'yellow' }),
    );

    await untilNames(['green', 'kube-public', 'red', 'yellow'], '', { token });
    await server.kubernetes.remove(bindingPath('everybody', 'kube-public'));
    await untilNames(['green', 'red', 'yellow'], '', { token });
  });

  it('filters, selects, sorts and pages the namespaces of the caller', async () => {
    expect(await names('&labelSelector=zone=x')).to.deep.equal(['red']);
    expect(await names('&labelSelector=team in (blue,secret)')).to.deep.equal(['blue']);
    expect(await names('&fieldSelector=metadata.name=yellow')).to.deep.equal(['yellow']);
    expect(await names('&fieldSelector=metadata.name=secret')).to.deep.equal([]);
    expect(await names('&filterBy=name,EL')).to.deep.equal(['yellow']);
    expect(await names('&sortBy=d,name')).to.deep.equal(['yellow', 'red', 'blue']);
    expect((await names('&sortBy=creationTimestamp')).sort()).to.deep.equal(['blue', 'red', 'yellow']);
    expect(await names('&limit=2&page=2')).to.deep.equal(['yellow']);
    expect(await ask('&page=9')).to.deep.include({ total: 3, items: [] });
    const first = await ask('&limit=2');
    expect([first.total, first.metadata.remainingItemCount]).to.deep.equal([3, 1]);
    const rest = `&limit=2&continue=${encodeURIComponent(first.metadata.continue)}`;
    expect(await names(rest)).to.deep.equal(['yellow']);
    expect(await names(rest, 'nobody')).to.deep.equal([]);
    expect((await get(`${rest}&sortBy=d,name`)).status).to.equal(400);
  });

  it('refuses invalid questions', async () => {
    for (const [query, ...fields] of [
      [path, 'verb', 'resource'],
      [`${path}?verb=list`, 'resource'],
      [`${path}?verb=&resource=pods`, 'verb'],
      [`${path}?verb=list&resource=pods/log`, 'resource'],
      [`${path}?verb=list&verb=get&resource=pods`, 'verb'],
      [`${path}?verb=list&resource=deployments&group=apps/v1`, 'group'],
      [`${path}?verb=li%20st&resource=pods`, 'verb'],
      [`${listPods}&subresource=a%20b`, 'subresource'],
      [`${listPods}&limit=0`, 'limit'],
      [`${listPods}&sortBy=uid`, 'sortBy'],
      [`${listPods}&fieldSelector=status.phase=Active`, 'fieldSelector'],
      [`${listPods}&labelSelector=a b`, 'labelSelector'],
    ] as const) {
      const response = await get(query);
      const { code, details } = failure.parse(await response.json());
      expect([response.status, code, details?.causes?.map(({ field }) => field)], query).to.deep.equal([400, 400, fields]);
    }
    expect((await server.request(listPods)).status).to.equal(401);
    expect((await server.request(listPods, { method: 'POST', as: 'alice' })).status).to.equal(405);
  });

  it('is not cacheable for other users', async () => {
    const { headers } = await get();
    expect([headers.get('cache-control'), headers.get('vary')]).to.deep.equal([
      'no-store',
      'Impersonate-User, Impersonate-Group, Impersonate-Uid, Atrium-View-As-Groups, Authorization, Cookie',
    ]);
  });

  it('AUZ-07 follows roles, bindings and namespaces as they change', async () => {
    await server.kubernetes.apply(aNamespace('new'), aBinding('alice-new', { role: 'pod-viewer', to: 'User:alice', namespace: 'new' }));
    await untilNames(['blue', 'new', 'red', 'yellow']);
    await server.kubernetes.call('PATCH', `/apis/${rbacGroup}/v1/clusterroles/pod-viewer`, { rules: [podRule(['get'])] }, merge);
    await untilNames(['red', 'yellow']);
    await server.kubernetes.call('PATCH', `/apis/${rbacGroup}/v1/clusterroles/pod-viewer`, { rules: [podRule(['get', 'list'])] }, merge);
    await untilNames(['blue', 'new', 'red', 'yellow']);
    await server.kubernetes.remove(bindingPath('alice-new', 'new'));
    await untilNames(['blue', 'red', 'yellow']);
    // Revoked permissions stay revoked.
    for (let count = 0; count < 5; count += 1) expect(await names()).to.deep.equal(['blue', 'red', 'yellow']);
    await server.kubernetes.apply(aNamespace('latest'));
    await eventually(
      () => names('', 'viewer'),
      (given) => given.includes('latest'),
    );
  });

  it('waits for the version that a caller has seen elsewhere', async () => {
    await server.kubernetes.apply(aNamespace('seen'));
    const { body } = await server.kubernetes.call('GET', '/api/v1/namespaces/seen');
    const { resourceVersion } = z.object({ metadata: z.object({ resourceVersion: z.string() }) }).parse(body).metadata;

    // A request waits for three seconds at most, so the client retries after 504.
    const response = await eventually(
      () => get(`&resourceVersion=${resourceVersion}`, 'viewer'),
      ({ status }) => status !== 504,
    );
    expect(list.parse(await response.json()).items.map(({ metadata }) => metadata.name)).to.include('seen');
  });

  it('shows a namespace that is being deleted as such', async () => {
    await server.kubernetes.apply(
      { ...aNamespace('leaving'), spec: { finalizers: ['kubernetes', 'example.com/stays'] } },
      aBinding('alice-leaving', { role: 'pod-viewer', to: 'User:alice', namespace: 'leaving' }),
    );
    await eventually(
      () => names('&filterBy=name,leaving'),
      ({ length }) => length === 1,
    );
    await server.kubernetes.remove('/api/v1/namespaces/leaving');
    const shown = async () => (await ask('&filterBy=name,leaving', 'viewer')).items[0]?.metadata;

    const leaving = await eventually(shown, (metadata) => metadata === undefined || metadata.deletionTimestamp !== undefined);
    if (leaving !== undefined) expect(leaving.name).to.equal('leaving');
    await untilNames(['blue', 'red', 'yellow']);
  });

  describe('beside an authorizer other than RBAC', () => {
    afterEach(() => server.faults.mend());

    it('never shows a namespace that another one denies, nor counts it', async () => {
      await eventually(
        () => names('&limit=2', 'viewer'),
        (given) => given.length === 2,
      );
      opinion(server.faults, ({ namespace }) => (namespace === 'red' ? false : undefined));
      await untilNames(['blue', 'yellow']);
      expect((await ask()).total).to.equal(2);
      // Answers of a person with one token are cached for `accessCache`.
      const { total, items } = await eventually(
        () => ask('', 'viewer'),
        (answer) => answer.items.every(({ metadata }) => metadata.name !== 'red'),
      );
      expect(total).to.equal(items.length);
    });

    it('finds the namespaces that another authorizer allows', async () => {
      opinion(server.faults, ({ namespace, verb }) =>
        namespace !== undefined && namespace !== 'secret' && verb === 'watch' ? true : undefined,
      );

      const found = await names(`${path}?verb=watch&resource=pods`, 'nobody');
      expect(found).to.include.members(['blue', 'default', 'red']);
      expect(found).not.to.include('secret');
    });

    it('follows an authorizer that allows everything, except for its denials', async () => {
      opinion(server.faults, ({ namespace, verb }) => (verb === 'patch' ? namespace !== 'secret' : undefined));

      const found = await names(`${path}?verb=patch&resource=pods`, 'nobody');
      expect(found).to.include.members(['blue', 'default', 'red']);
      expect(found).not.to.include('secret');
    });
  });

  describe('when reviews fail', () => {
    afterEach(() => server.faults.mend());

    for (const [name, code, reason] of [
      ['cannot be made', 500, 'ServiceUnavailable'],
      ['are not allowed', 403, 'Forbidden'],
    ] as const) {
      it(`AUZ-11 returns no namespaces if they ${name}`, async () => {
        server.faults.inject(refuse(code, reason), isReview);
        const response = await get(`${path}?verb=get&resource=secrets${code}`);

        expect(response.status).to.equal(code === 500 ? 503 : 403);
        expect(failure.parse(await response.json()).code).to.equal(response.status);
      });
    }

    it('AUZ-11 returns no namespaces if one of many fails', async () => {
      const seen: ProxiedRequest[] = [];
      server.faults.inject(refuse(500, 'InternalError'), (request) => isReview(request) && seen.push(request) === 5);
      const response = await get(`${path}?verb=get&resource=pods`, 'viewer');

      expect([response.status, failure.parse(await response.json()).reason]).to.deep.equal([503, 'ServiceUnavailable']);
      expect((await names(`${path}?verb=get&resource=pods`, 'viewer')).length).to.be.above(5);
    });
  });
});

describe('the service without features.namespaces, features.explain and features.explorer', () => {
  const server = forSuite(() =>
    startFaultyServer({ config: { features: { namespaces: false, explain: false, explorer: false, userBindings: false } } }),
  );

  it('has no such path, and watches nothing more', async () => {
    const response = await server.request(listPods, { as: 'admin' });
    expect(response.status).to.equal(404);
    expect(failure.parse(await response.json()).reason).to.equal('NotFound');
    const watched = server.faults.requests.filter(({ method }) => method === 'GET');
    expect(watched.filter((request) => request.path === '/api/v1/namespaces')).to.deep.equal([]);
    const ofRoles = watched.filter((request) => /\/(cluster)?roles$/.test(request.path));
    expect(ofRoles).not.to.deep.equal([]);
    for (const { headers } of ofRoles) expect(headers.accept).to.match(/as=PartialObjectMetadata/);
  });
});
