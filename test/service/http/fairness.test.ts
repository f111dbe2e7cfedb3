import { expect } from 'chai';
import { holdAnswer, type ProxiedRequest } from '../../cluster/faults/fault-proxy.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { type FaultyServer, startFaultyServer } from '../../support/faulty-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';

const people: Person[] = ['viewer', 'alice', 'bob'];
const stranger = '203.0.113.1';
const three = [stranger, '203.0.113.2', '203.0.113.3'];
const users = '/auth/v2/users';
const future = '99999999999999999999';
const status504 = { reason: 'Timeout', code: 504 };

/** Answers that have come for requests of one sender, by status. */
class Sent {
  readonly statuses: number[] = [];
  readonly all: Promise<void>[] = [];

  count(status: number): number {
    return this.statuses.filter((each) => each === status).length;
  }
}

describe('a flow that waits for others takes no places of others', () => {
  const server: FaultyServer = forSuite(() =>
    startFaultyServer({ config: { server: { trustedProxies: ['127.0.0.1'], maxInFlight: 200 }, kubernetes: { accessCache: '1h' } } }),
  );
  let release: () => void = () => undefined;
  let sent: Sent;
  /** Accepted tokens. */
  const tokens = new Map<Person, string>();
  const tokenOf = (person: Person) => tokens.get(person) ?? '';

  before(async () => {
    for (const person of people) await grant(server.kubernetes, person, 'atrium-users-view');
    for (const person of people) tokens.set(person, await server.token(person));
    for (const person of people)
      await eventually(
        async () => (await server.request(users, { token: tokenOf(person) })).status,
        (status) => status === 200,
      );
  });
  beforeEach(() => {
    sent = new Sent();
  });
  afterEach(async () => {
    server.faults.mend();
    release();
    await Promise.all(sent.all);
  });

  /** Holds the answers of the API server to these requests until the test ends. */
  const hold = (matches: (request: ProxiedRequest) => boolean) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    release = resolve;
    server.faults.inject(holdAnswer(promise), matches);
  };
  const send = (count: number, path: string, options: (index: number) => Parameters<FaultyServer['request']>[1]) => {
    for (let index = 0; index < count; index += 1)
      sent.all.push(
        server.request(path, options(index)).then(async (response) => {
          await response.arrayBuffer();
          sent.statuses.push(response.status);
        }),
      );
  };
  const from = (address: string, token?: string) => ({
    headers: { 'X-Forwarded-For': address, ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
  });
  /** Requests of 20 clients that behave, most of them from the network of the stranger. */
  const behaving = async () => {
    const clients = Array.from({ length: 20 }, (_, index) => ({
      token: tokenOf(people[index % 3] as Person),
      address: index % 2 ? stranger : '198.51.100.7',
      path: index % 4 === 3 ? '/' : users,
    }));
    const ask = clients.map(async ({ token, address, path }) => (await server.request(path, from(address, token))).status);
    return [...(await Promise.all(ask)), (await server.request('/readyz', from(stranger))).status];
  };
  const all200 = Array.from({ length: 21 }, () => 200);
  const isReview = ({ path, headers }: ProxiedRequest) =>
    path.endsWith('/selfsubjectreviews') && /unknown-/.test(String(headers.authorization));

  for (const [what, addresses] of Object.entries({ 'one address': [stranger], 'three networks': three }))
    it(`LIM-14 answers people, pages and probes while ${what} sends unknown bearers to an API server that does not answer`, async () => {
      hold(isReview);
      send(450, users, (index) => from(addresses[index % addresses.length] ?? '', `unknown-${addresses.length}-${index}`));
      await eventually(
        () => sent.count(429),
        (count) => count >= 350,
      );

      expect(await behaving()).to.deep.equal(all200);
      expect(await server.request(users, from('198.51.100.8', tokenOf('alice'))).then(({ status }) => status)).to.equal(200);
      const other = server.request(users, from('198.51.100.9', 'another-unknown'));
      expect((await other).status).to.equal(401);
      expect(new Set(sent.statuses)).to.deep.equal(new Set([429]));
      release();
      await Promise.all(sent.all);
      expect(sent.count(401) + sent.count(429)).to.equal(450);
    });

  it('LIM-15 answers others while one user waits for a version that never comes, and refuses it as the API server does', async () => {
    const path = `${users}?resourceVersion=${future}`;
    const token = tokenOf('viewer');
    send(1_050, path, () => from(stranger, token));
    await eventually(
      () => sent.count(429),
      (count) => count >= 900,
    );
    const others = await Promise.all(
      (['alice', 'bob'] as const)
        .flatMap((as) => [stranger, '198.51.100.7'].map((address) => ({ as, address })))
        .map(async ({ as, address }) => (await server.request(users, from(address, tokenOf(as)))).status),
    );
    expect(others).to.deep.equal([200, 200, 200, 200]);
    expect((await server.request('/', from(stranger))).status).to.equal(200);
    await Promise.all(sent.all);
    expect(sent.count(429) + sent.count(504)).to.equal(1_050);

    const refused = await server.request(path, { as: 'viewer' });
    const body = (await refused.json()) as { message: string; details: unknown };
    expect(body).to.include(status504);
    expect(body.details).to.deep.equal({
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    });
    expect(body.message).to.match(new RegExp(`^Timeout: Too large resource version: ${future}, current: \\d+$`));
    expect(refused.headers.get('retry-after')).to.equal('1');
  });

  it('LIM-16 refuses the user who holds many requests to the Kubernetes API, and answers others', async () => {
    const token = tokenOf('viewer');
    hold(({ path, headers }) => path === '/api/v1/nodes' && headers.authorization === `Bearer ${token}`);
    send(300, '/api/kubernetes/api/v1/nodes', () => from(stranger, token));
    await eventually(
      () => sent.count(429),
      (count) => count >= 250,
    );
    const ask = async (as: Person) => (await server.request('/api/kubernetes/api/v1/nodes', from(stranger, tokenOf(as)))).status;
    expect(await Promise.all([ask('alice'), ask('bob')])).to.deep.equal([403, 403]);
    expect((await server.request(users, from(stranger, tokenOf('bob')))).status).to.equal(200);
    expect(new Set(sent.statuses)).to.deep.equal(new Set([429]));
    const refused = await server.request(users, from('198.51.100.7', token));
    expect(refused.status).to.equal(429);
    expect(refused.headers.get('retry-after')).to.equal('1');
    expect(await refused.json()).to.have.property('message', 'too many requests of yours are under way, try again');
  });

  it('LIM-17 counts places and refusals by class', async () => {
    hold(isReview);
    send(90, users, (index) => from(stranger, `unknown-m-${index}`));
    await eventually(
      () => sent.count(429),
      (count) => count === 40,
    );
    const text = await (await fetch(`${server.metricsURL}/metrics`)).text();
    expect(text).to.match(/^atrium_places\{class="strangers",state="running"\} 10$/m);
    expect(text).to.match(/^atrium_places\{class="strangers",state="waiting"\} 40$/m);
    expect(text).to.match(/^atrium_places\{class="people",state="running"\} 0$/m);
    expect(text).to.match(/^atrium_http_requests_refused_total\{class="strangers"\} [1-9]/m);
  });
});
