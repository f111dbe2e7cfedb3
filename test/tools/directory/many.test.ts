import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { type ConnectorResult, syncResult } from '../../../src/directory/schema.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aGroup, aPerson, people, Slapd } from './slapd.ts';

const count = 5000;
const emailOf = (index: number) => `person-${index}@corp.example.com`;
const dnOf = (index: number) => `uid=p${index},${people}`;
const indexes = Array.from({ length: count }, (_, index) => index);
/** Bytes after which the directory is killed. The list of 5,000 takes about a megabyte. */
const halfWay = 400_000;

describe('synchronising 5,000 users', () => {
  const slapd = forSuite(() =>
    Slapd.start([
      ...indexes.map((index) => aPerson({ uid: `p${index}`, cn: `Persön ${index}`, mail: emailOf(index) })),
      aGroup(
        'everybody',
        indexes.map((index) => dnOf(index)),
      ),
      ...Array.from({ length: 20 }, (_, group) =>
        aGroup(
          `group ${group}`,
          indexes.filter((index) => index % 20 === group).map((index) => dnOf(index)),
        ),
      ),
    ]),
  );
  let server: TestServer;
  /** Relay in front of the directory, which kills it on demand. */
  let breaker: Server;
  let isBreaking = false;

  before(async () => {
    breaker = createServer((client) => {
      let passed = 0;
      const upstream = connect(slapd.port, '127.0.0.1');
      client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
      upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
      client.pipe(upstream).pipe(client);
      upstream.on('data', ({ length }) => {
        passed += length;
        if (isBreaking && passed > halfWay) void slapd.kill();
      });
    }).listen(0, '127.0.0.1');
    await once(breaker, 'listening');
    const url = `ldap://127.0.0.1:${(breaker.address() as AddressInfo).port}`;
    server = await startServer({ config: { users: { ldap: [slapd.connector({ url, startTLS: true })] } } });
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });
  after(async () => {
    await server.stop();
    breaker.close();
  });

  const sync = async (body: Record<string, unknown> = {}): Promise<ConnectorResult> => {
    const response = await server.request('/auth/v1/users/sync?timeoutSeconds=300', {
      method: 'PUT',
      as: 'manager',
      body: { connector_id: 'corp', ...body },
    });
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    const [result] = syncResult.parse(JSON.parse(text)).connectors;
    if (result === undefined) throw new Error(text);
    return result;
  };

  it('creates all users, with their groups', async () => {
    expect(await sync()).to.include({ status: 'Success', fetched: count, created: count, failed: 0 });
    const list = await server.request('/auth/v2/users?limit=1', { as: 'manager' });
    expect(((await list.json()) as { total: number }).total).to.equal(count);
    const { body } = await server.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(emailOf(4321))}`);
    expect((body as { status: unknown }).status).to.deep.include({ groups: ['everybody', 'group 1'], phase: 'Normal' });
  });

  it('writes nothing when nothing has changed', async () => {
    expect(await sync()).to.include({ status: 'Success', unchanged: count, updated: 0 });
  });

  it('invalidates no user when the directory dies half way, and continues when it recovers', async () => {
    for (const force of [false, true]) {
      isBreaking = true;
      const result = await sync({ force });
      isBreaking = false;
      expect(result).to.deep.include({ status: 'Failed', fetched: 0, updated: 0, invalidated: 0 });
      expect(result.errors[0]).to.include({ reason: 'Incomplete' });
      await slapd.run();
    }
    for (const index of [1, 2, 3]) await slapd.remove(dnOf(index));
    expect(await sync()).to.include({ status: 'Success', unchanged: count - 3, invalidated: 3 });
  });
});
