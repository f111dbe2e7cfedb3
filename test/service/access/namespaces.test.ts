import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { z } from 'zod';
import { FaultProxy, type ProxiedRequest, refuse } from '../../cluster/faults/fault-proxy.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aBinding, accountToken, aNamespace, aRole, bindingPath, podRule, rbacGroup } from './objects.ts';

const path = '/auth/v1/namespaces';
const listPods = `${path}?verb=list&resource=pods`;

const item = z.strictObject({
  metadata: z.strictObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()),
    creationTimestamp: z.iso.datetime(),
    deletionTimestamp: z.iso.datetime().optional(),
  }),
});
const list = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('NamespaceList'),
  metadata: z.strictObject({ resourceVersion: z.string(), continue: z.string(), remainingItemCount: z.int() }),
  total: z.int(),
  items: z.array(item),
});
const failure = z.looseObject({
  kind: z.literal('Status'),
  code: z.number(),
  reason: z.string(),
  details: z.looseObject({ causes: z.array(z.looseObject({ field: z.string(), reason: z.string() })).optional() }).optional(),
});

type As = Person | { token: string };

const startWithProxy = async (config = {}) => {
  const proxies: FaultProxy[] = [];
  const server = await startServer({
    config,
    async between({ url, certificateAuthority, serving }) {
      const proxy = await FaultProxy.start({ target: url, certificateAuthority, serving });
      proxies.push(proxy);
      return proxy;
    },
  });
  const [proxy] = proxies;
  if (proxy === undefined) throw new Error('no proxy was started');
  return { server, proxy };
};

const isReview = ({ path: asked }: ProxiedRequest) => asked.endsWith('/selfsubjectaccessreviews');

/** Another authorizer, whose opinion on a namespace comes before the answer of RBAC. */
const opinion = (proxy: FaultProxy, about: (attributes: Record<string, string>) => boolean | undefined) =>
  proxy.inject(
    ({ pass, response }) =>
      pass((answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const review = JSON.parse(Buffer.concat(chunks).toString());
          const allowed = about(review.spec?.resourceAttributes ?? {});
          if (allowed !== undefined) review.status = { allowed, ...(!allowed && { denied: true }) };
          response.writeHead(answer.statusCode ?? 500, { 'content-type': 'application/json' }).end(JSON.stringify(review));
        });
      }),
    isReview,
  );

describe('GET /auth/v1/namespaces', () => {
  let server: TestServer;
  let proxy: FaultProxy;

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
    ({ server, proxy } = await startWithProxy());
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
  });
  after(() => server.stop());

  it('tells whoever may not list namespaces in which he may do it, with name and labels and nothing more', async () => {
    const { total, items, metadata } = await ask();

    expect([total, metadata.continue, metadata.remainingItemCount]).to.deep.equal([3, '', 0]);
    expect(items.map(({ metadata: { name, labels } }) => [name, labels.team])).to.deep.equal([
      ['blue', 'blue'],
      ['red', 'red'],
      ['yellow', 'yellow'],
    ]);
    expect((await names(`${path}?verb=list&resource=namespaces`)).filter((name) => name !== 'red')).to.deep.equal([]);
  });

  it('tells nobody of what they may nothing in, nor how many there are', async () => {
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

  it('knows whoever may do it everywhere, and whoever may do everything', async () => {
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

  it('filters, selects, sorts and pages what may be told', async () => {
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

  it('refuses questions that are none', async () => {
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

  it('is nobody else’s to keep', async () => {
    const { headers } = await get();
    expect([headers.get('cache-control'), headers.get('vary')]).to.deep.equal(['no-store', 'Authorization, Cookie']);
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
    // What has been taken away stays away.
    for (let count = 0; count < 5; count += 1) expect(await names()).to.deep.equal(['blue', 'red', 'yellow']);
    await server.kubernetes.apply(aNamespace('latest'));
    await eventually(
      () => names('', 'viewer'),
      (given) => given.includes('latest'),
    );
  });

  it('waits for what a caller has seen elsewhere', async () => {
    await server.kubernetes.apply(aNamespace('seen'));
    const { body } = await server.kubernetes.call('GET', '/api/v1/namespaces/seen');
    const { resourceVersion } = z.object({ metadata: z.object({ resourceVersion: z.string() }) }).parse(body).metadata;

    expect(await names(`&resourceVersion=${resourceVersion}`, 'viewer')).to.include('seen');
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

  describe('where RBAC is not the only authorizer', () => {
    afterEach(() => proxy.mend());

    it('never shows a namespace that another one denies, nor counts it', async () => {
      await eventually(
        () => names('&limit=2', 'viewer'),
        (given) => given.length === 2,
      );
      opinion(proxy, ({ namespace }) => (namespace === 'red' ? false : undefined));
      await untilNames(['blue', 'yellow']);
      expect((await ask()).total).to.equal(2);
      // Of a person with one token what was allowed before is kept for `accessCache`.
      const { total, items } = await eventually(
        () => ask('', 'viewer'),
        (answer) => answer.items.every(({ metadata }) => metadata.name !== 'red'),
      );
      expect(total).to.equal(items.length);
    });

    it('finds what another one allows', async () => {
      opinion(proxy, ({ namespace, verb }) => (namespace !== undefined && namespace !== 'secret' && verb === 'watch' ? true : undefined));

      const found = await names(`${path}?verb=watch&resource=pods`, 'nobody');
      expect(found).to.include.members(['blue', 'default', 'red']);
      expect(found).not.to.include('secret');
    });

    it('takes the word of one that allows everything, but for what it denies', async () => {
      opinion(proxy, ({ namespace, verb }) => (verb === 'patch' ? namespace !== 'secret' : undefined));

      const found = await names(`${path}?verb=patch&resource=pods`, 'nobody');
      expect(found).to.include.members(['blue', 'default', 'red']);
      expect(found).not.to.include('secret');
    });
  });

  describe('when reviews fail', () => {
    afterEach(() => proxy.mend());

    for (const [name, code, reason] of [
      ['cannot be made', 500, 'ServiceUnavailable'],
      ['are not allowed', 403, 'Forbidden'],
    ] as const) {
      it(`AUZ-11 tells nothing if they ${name}`, async () => {
        proxy.inject(refuse(code, reason), isReview);
        const response = await get(`${path}?verb=get&resource=secrets${code}`);

        expect(response.status).to.equal(code === 500 ? 503 : 403);
        expect(failure.parse(await response.json()).code).to.equal(response.status);
      });
    }

    it('AUZ-11 tells nothing if one of many fails', async () => {
      const seen: ProxiedRequest[] = [];
      proxy.inject(refuse(500, 'InternalError'), (request) => isReview(request) && seen.push(request) === 5);
      const response = await get(`${path}?verb=get&resource=pods`, 'viewer');

      expect([response.status, failure.parse(await response.json()).reason]).to.deep.equal([503, 'ServiceUnavailable']);
      expect((await names(`${path}?verb=get&resource=pods`, 'viewer')).length).to.be.above(5);
    });
  });
});

describe('GET /auth/v1/namespaces of many', () => {
  let server: TestServer;
  let proxy: FaultProxy;
  const many = Array.from({ length: 130 }, (_, index) => `many-${String(index).padStart(3, '0')}`);

  /** One for each person: what is kept is kept under the token. */
  const tokens = new Map<Person, string>();
  const ask = async (query: string, as: Person = 'viewer') => {
    const token = tokens.get(as) ?? (await server.token(as));
    tokens.set(as, token);
    const response = await server.request(`${path}?resource=pods${query}`, { token });
    const body = await response.json();
    expect(response.status, JSON.stringify(body)).to.equal(200);
    return list.parse(body);
  };
  const namesOf = ({ items }: z.output<typeof list>) => items.map(({ metadata }) => metadata.name);
  const reviews = () => proxy.requests.filter(isReview).length;

  before(async () => {
    ({ server, proxy } = await startWithProxy({ kubernetes: { accessCache: '5s' } }));
    await server.kubernetes.apply(
      ...many.map((name) => aNamespace(name)),
      aRole('pod-viewer', [podRule(['get', 'list', 'watch', 'patch'])]),
      aBinding('viewer-all', { role: 'pod-viewer', to: 'User:viewer' }),
      aBinding('bob-one', { role: 'pod-viewer', to: 'User:bob', namespace: 'many-129' }),
    );
    await eventually(
      () => ask('&verb=get', 'bob'),
      ({ total }) => total === 1,
    );
    await eventually(
      () => ask('&verb=get&limit=1'),
      ({ total }) => total >= 130,
    );
  });
  after(() => server.stop());
  afterEach(() => proxy.mend());

  it('asks the API server about those that it shows, and a few more, and not at all while it knows', async () => {
    const reviewsFor = async (query: string) => {
      proxy.forgetRequests();
      await ask(query);
      return reviews();
    };
    // Roles have just changed: until that has settled answers are kept for a second only.
    await eventually(
      () => reviewsFor('&verb=get&limit=20'),
      (count) => count === 0,
    );
    expect(await reviewsFor('&verb=list&limit=20')).to.be.within(20, 20 + 1 + 16);
    expect((await ask('&verb=list&limit=20')).total).to.be.at.least(130);
    expect(await reviewsFor('&verb=list&limit=20')).to.equal(0);
    proxy.forgetRequests();
    expect(await ask('&verb=list&limit=20', 'bob')).to.have.property('total', 1);
    expect(reviews()).to.be.within(2, 1 + 16);
  });

  it('never shows a namespace that another authorizer denies, and counts without it from then on', async () => {
    const { total } = await ask('&verb=watch&limit=1');
    opinion(proxy, ({ namespace, verb }) => (namespace === 'many-077' && verb === 'patch' ? false : undefined));
    const shown: string[] = [];
    for (let page = 1; page <= 4; page += 1) shown.push(...namesOf(await ask(`&verb=patch&limit=50&page=${page}`)));
    expect(shown).to.include.members(many.filter((name) => name !== 'many-077'));
    expect(shown).not.to.include('many-077');
    expect((await ask('&verb=patch&limit=1')).total).to.equal(total - 1);
    expect(namesOf(await ask('&verb=patch&filterBy=name,many-077'))).to.deep.equal([]);
  });

  it('asks about every one where another authorizer allows more', async () => {
    opinion(proxy, ({ namespace, verb }) =>
      verb === 'watch' ? namespace?.startsWith('many-') === true && namespace !== 'many-001' : undefined,
    );

    const { total, items } = await ask('&verb=watch&limit=3&filterBy=name,many-00', 'nobody');
    expect([total, items.map(({ metadata }) => metadata.name)]).to.deep.equal([9, ['many-000', 'many-002', 'many-003']]);
  });

  it('LIM-11 lets nobody keep others from lists that take all reviews', async () => {
    /** Where roles say nothing: one for each whether it is everywhere, and the sample. */
    const beforeAll = 1 + 8;
    const release = Promise.withResolvers<void>();
    const verbs = ['get', 'list', 'watch', 'create'];
    const answerThose = (beyond: (answer: () => void, fail: () => void) => void, asks: (request: ProxiedRequest) => boolean) => {
      const seen = new Map<string, number>();
      proxy.inject(
        ({ pass, response }) =>
          pass((answer) => {
            const chunks: Buffer[] = [];
            answer.on('data', (chunk: Buffer) => chunks.push(chunk));
            answer.on('end', () => {
              const review = JSON.parse(Buffer.concat(chunks).toString());
              const { verb, namespace = '' } = review.spec.resourceAttributes;
              review.status = { allowed: namespace.startsWith('many-') };
              const count = (seen.get(verb) ?? 0) + 1;
              seen.set(verb, count);
              const reply = () => response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(review));
              if (count <= beforeAll) reply();
              else beyond(reply, () => response.writeHead(500).end());
            });
          }),
        (request) => isReview(request) && asks(request),
      );
    };
    const statusOf = async (verb: string, token: string) => (await server.request(`${path}?resource=pods&verb=${verb}`, { token })).status;
    const [greedy, other] = [await server.token('alice'), await server.token('carol')];
    const isGreedy = ({ headers }: ProxiedRequest) => headers.authorization === `Bearer ${greedy}`;
    // What the roles do not tell is known from here on, and no list of it.
    answerThose((_reply, fail) => fail(), isGreedy);
    for (const verb of verbs) expect(await statusOf(verb, greedy)).to.be.at.least(500);
    proxy.mend();

    let held = 0;
    proxy.inject(
      ({ pass }) => {
        held += 1;
        void release.promise.then(() => pass());
      },
      (request) => isReview(request) && isGreedy(request),
    );
    answerThose(
      (reply) => reply(),
      (request) => !isGreedy(request),
    );
    const theirs = verbs.map((verb) => statusOf(verb, greedy));
    await eventually(
      async () => held,
      (count) => count >= 16,
    );
    expect(await statusOf('delete', other)).to.equal(200);
    release.resolve();
    for (const status of await Promise.all(theirs)) expect(status).to.equal(200);
  });

  it('AUZ-11 says so if the API server is gone', async () => {
    await server.relay.cut();
    const response = await server.request(`${path}?verb=create&resource=pods`, { as: 'viewer' });

    expect(response.status).to.equal(503);
    expect(response.headers.get('retry-after')).to.match(/^\d+$/);
    expect(failure.parse(await response.json()).reason).to.equal('ServiceUnavailable');
    await server.relay.start();
  });
});

const merge = { 'content-type': 'application/merge-patch+json' };

describe('without features.namespaces and features.explain', () => {
  let server: TestServer;
  let proxy: FaultProxy;

  before(async () => {
    ({ server, proxy } = await startWithProxy({ features: { namespaces: false, explain: false, userBindings: false } }));
  });
  after(() => server.stop());

  it('there is no such path, and nothing more is watched', async () => {
    const response = await server.request(listPods, { as: 'admin' });
    expect(response.status).to.equal(404);
    expect(failure.parse(await response.json()).reason).to.equal('NotFound');
    const watched = proxy.requests.filter(({ method }) => method === 'GET');
    expect(watched.filter((request) => request.path === '/api/v1/namespaces')).to.deep.equal([]);
    const ofRoles = watched.filter((request) => /\/(cluster)?roles$/.test(request.path));
    expect(ofRoles).not.to.deep.equal([]);
    for (const { headers } of ofRoles) expect(headers.accept).to.match(/as=PartialObjectMetadata/);
  });
});
