import { expect } from 'chai';
import { FaultProxy, holdAnswer, type ProxiedRequest } from '../../cluster/faults/fault-proxy.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { aGroup, groups } from '../groups/support.ts';
import { startPluginSuite } from '../plugins/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { Crowd, expectServed, fillings, from, networks, runningOf, times } from './crowd.ts';

const people: Person[] = ['viewer', 'alice', 'bob', 'carol'];
const [stranger] = networks;
const users = '/auth/v2/users';
const namespaces = '/api/kubernetes/api/v1/namespaces';
const member = nameOf('member@example.com');
const another = nameOf('another@example.com');
const chiefs = Array.from({ length: 3 }, (_, index) => `chief-${index}@example.com`);

const allRights = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'all-rights' } };

/** A way to wait for another server. */
interface Wait {
  /** Calls to the API server that are held. */
  held?: (request: ProxiedRequest) => boolean;
  ask: (index: number) => { path: string; method?: string; body?: unknown };
}

const isOf = (verb: string, resource: string) => (request: ProxiedRequest) =>
  request.method === verb && request.path.endsWith(`/${resource}`);
const waits: Readonly<Record<string, Wait>> = {
  'an answer of the Kubernetes API': { held: isOf('GET', 'namespaces'), ask: () => ({ path: namespaces }) },
  'access reviews': {
    held: isOf('POST', 'selfsubjectaccessreviews'),
    ask: (index) => ({
      path: '/auth/v1/selfsubjectaccessreviews',
      method: 'POST',
      body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods', name: `pod-${index}` } } },
    }),
  },
  'the Service of a plugin': { ask: () => ({ path: '/api/proxy/plugin/shop/slow/of-viewer' }) },
  'the lock of a group': {
    held: isOf('PATCH', 'groups/team-of-viewer'),
    ask: () => ({ path: `${groups}/team-of-viewer/members`, method: 'POST', body: { names: [member] } }),
  },
  'the Lease of administrators': {
    held: isOf('GET', 'leases/atrium-administrators'),
    ask: (index) => ({ path: `/auth/v1/users/${nameOf(chiefs[index % chiefs.length] ?? '')}`, method: 'DELETE' }),
  },
};

describe('flows that wait for the API server, a lock or a plugin', () => {
  /** Proxy between the service and the API server. */
  let faults: FaultProxy;
  const suite = forSuite(() =>
    startPluginSuite({
      config: { server: { trustedProxies: ['127.0.0.1'], maxInFlight: 200 }, kubernetes: { accessCache: '1h' } },
      async between({ url, certificateAuthority, serving }) {
        faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
        return faults;
      },
    }),
  );
  const tokens = new Map<Person, string>();
  const tokenOf = (person: Person) => tokens.get(person) ?? '';
  let crowd: Crowd;
  let heldByPlugin: number;

  before(async () => {
    const { server } = suite;
    await server.kubernetes.apply(
      aUser('member@example.com'),
      aUser('another@example.com'),
      ...chiefs.map((email) => aUser(email, { is_admin: true })),
      ...people.map((person) => aGroup(`team-of-${person}`, [])),
      aGroup('shared', []),
      { ...allRights, rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] },
    );
    for (const person of people) {
      await grant(server.kubernetes, person, allRights.metadata.name);
      tokens.set(person, await server.token(person));
      await eventually(
        async () => (await server.request(namespaces, { token: tokenOf(person) })).status,
        (status) => status === 200,
      );
    }
    await suite.plugin('shop', {
      proxy: [{ alias: 'slow', service: suite.reference({ basePath: '/api' }) }],
      backend: { service: suite.reference({ basePath: '/files' }) },
    });
  });
  beforeEach(() => {
    crowd = new Crowd();
    heldByPlugin = 0;
    suite.service.handle = (incoming, response) => {
      const isHeld = /viewer|of-strangers/.test(incoming.url ?? '');
      if (isHeld) heldByPlugin += 1;
      void (isHeld ? crowd.isOver : Promise.resolve()).then(() => response.setHeader('content-type', 'text/plain').end('served'));
    };
  });
  afterEach(async () => {
    faults.mend();
    await crowd.end();
  });

  const ask = (path: string, address: string, token?: string, options: { method?: string; body?: unknown } = {}) =>
    suite.server.request(path, { ...options, headers: from(address), ...(token !== undefined && { token }) }).then(async (response) => {
      await response.arrayBuffer();
      return response;
    });
  const others: Person[] = ['alice', 'bob', 'carol'];
  const other = (index: number) => others[index % others.length] as Person;
  const address = (index: number) => (index % 2 ? stranger : '198.51.100.7');
  /** 20 clients that behave, half of them in the network of the stranger. */
  const behaving = () => ({
    ...times(4, 'users', (index) => ask(users, address(index), tokenOf(other(index)))),
    ...times(3, 'namespaces', (index) => ask(namespaces, address(index), tokenOf(other(index)))),
    ...times(3, 'plugin', (index) => ask(`/api/proxy/plugin/shop/slow/${index}`, address(index), tokenOf(other(index)))),
    ...times(3, 'group', (index) =>
      ask(`${groups}/team-of-${other(index)}/members`, address(index), tokenOf(other(index)), {
        method: 'POST',
        body: { names: [member] },
      }),
    ),
    ...times(3, 'page', (index) => ask('/', address(index))),
    ...times(2, 'livez', (index) => ask('/livez', address(index))),
    ...times(2, 'readyz', (index) => ask('/readyz', address(index))),
  });

  for (const [what, wait] of Object.entries(waits))
    it(`LIM-20 leave places to others while one person waits for ${what}`, async () => {
      const token = tokenOf('viewer');
      const { held } = wait;
      if (held) faults.inject(holdAnswer(crowd.isOver), held);
      faults.forgetRequests();
      crowd.send(60, (index) => {
        const { path, ...options } = wait.ask(index);
        return ask(path, stranger, token, options);
      });
      await crowd.refused(40);
      await eventually(
        () => (held ? faults.requests.filter(held).length : heldByPlugin),
        (count) => count > 0,
      );
      // The others ask for the same, and are answered.
      faults.mend();
      if (held) faults.inject(holdAnswer(crowd.isOver), (request) => held(request) && request.headers.authorization === `Bearer ${token}`);

      await expectServed(behaving());
      expect((await ask(users, '198.51.100.7', token)).status).to.equal(429);
      expect(await crowd.end()).to.include(429);
      expect((await ask(users, stranger, token)).status).to.equal(200);
    });

  for (const [what, addresses] of Object.entries(fillings))
    it(`LIM-20 leave places to others while ${what} waits for files of a plugin`, async () => {
      crowd.send(60 + 60 * addresses.length, (index) =>
        ask(`/plugins/shop/of-strangers-${index}.js`, addresses[index % addresses.length] ?? ''),
      );
      await crowd.refused(10);
      expect(await runningOf(suite.server.metricsURL)).to.include({ plugins: 10 * addresses.length });
      await expectServed(behaving());
      expect((await ask('/plugins/shop/other.js', '198.51.100.8')).status).to.equal(200);
      expect(await crowd.end()).to.deep.equal(new Set([200, 429]));
    });

  it('LIM-20 let changes of one group take turns by person', async () => {
    const write = (person: Person, method: string, name: string) =>
      ask(`${groups}/shared/members`, stranger, tokenOf(person), { method, body: { names: [name] } });
    const isWrite = isOf('PATCH', 'groups/shared');
    faults.forgetRequests();
    faults.inject(holdAnswer(crowd.isOver), isWrite);
    crowd.send(15, (index) => write('viewer', index % 2 ? 'DELETE' : 'POST', member));
    await eventually(
      () => faults.requests.filter(isWrite).length,
      (count) => count === 1,
    );
    crowd.send(1, () => write('alice', 'POST', another));
    await placesOf('people', 16);
    await crowd.end();
    const authors = faults.requests.filter(isWrite).map(({ headers }) => headers.authorization);
    // Conflicts repeat some of the 15 writes of the other person.
    expect(authors.indexOf(`Bearer ${tokenOf('alice')}`)).to.be.within(1, 6);
  });

  /** Waits until so many requests of a class run. */
  const placesOf = (requestClass: string, count: number) =>
    eventually(
      async () => (await fetch(`${suite.server.metricsURL}/metrics`)).text(),
      (text) => text.includes(`atrium_places{class="${requestClass}",state="running"} ${count}\n`),
    );
});
