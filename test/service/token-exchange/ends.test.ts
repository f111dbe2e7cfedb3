/** Ends of machine users, and of the tokens that their workloads have got. */
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { exchangedTokenSweep } from '../../../src/tokens/exchanged.ts';
import { type AccessTokenRow, accessTokenRow } from '../../../src/tokens/store.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { bareCluster } from '../sessions/support.ts';
import { mergePatch, untilCauses, whoIs } from '../tokens/tokens.ts';
import { nameOf } from '../users/a-user.ts';
import { aMachine, audience, branch, exchange, startExchange, workloadToken, written } from './workloads.ts';

const user = (name: string) => `/apis/auth.platform.io/v1/users/${nameOf(name)}`;

describe('a machine user that ends', () => {
  const provider = forSuite(() => TestProvider.start({ clientID: audience }));
  const trusts = () => [{ issuer: provider.issuer, audience, claims: { sub: branch } }];
  const server = forSuite(() =>
    startExchange(
      provider,
      ['locked', 'expired', 'deleted'].map((name) => aMachine(name, trusts())),
    ),
  );
  const ask = (name: string) => exchange(server, workloadToken(provider), { client_id: name });
  const untilRefused = (name: string) =>
    eventually(
      () => ask(name),
      ({ status }) => status === 400,
    );
  const lastReason = () =>
    server.auditLines.map((line): Record<string, unknown> => JSON.parse(line)).findLast(({ audit }) => audit === 'TokenExchangeRefused')
      ?.reason;

  it('gets no token while it is locked, and keeps those that it has', async () => {
    const { body } = await ask('locked');
    await mergePatch(server, `${user('locked')}/status`, { status: { lockedUntil: '2999-01-01T00:00:00Z' } });
    expect((await untilRefused('locked')).body.error).to.equal('invalid_request');
    expect(lastReason()).to.equal('AccountLocked');
    expect(await whoIs(server, body.access_token ?? '')).to.deep.include({ name: 'machine:locked' });
    await mergePatch(server, `${user('locked')}/status`, { status: { lockedUntil: null } });
    await eventually(
      () => ask('locked'),
      ({ status }) => status === 200,
    );
  });

  it('has no valid token after its expiry', async () => {
    const { body } = await ask('expired');
    await mergePatch(server, user('expired'), { spec: { expired: { end: '2026-01-01T00:00:00Z' } } });
    await untilCauses(server, body.access_token ?? '', 401, 'AccountExpired');
    await untilRefused('expired');
    expect(lastReason()).to.equal('AccountDisabled');
  });

  it('leaves no token in the cluster once it is deleted, and a new one of the same name does not own them', async () => {
    const { body } = await ask('deleted');
    const token = body.access_token ?? '';
    const id = token.split('_')[1];
    expect(await written(server)).to.include(id);
    await server.kubernetes.remove(user('deleted'));
    await eventually(
      () => whoIs(server, token),
      (found) => found === 401,
    );
    await untilRefused('deleted');
    await server.kubernetes.apply(aMachine('deleted', trusts()));
    await eventually(
      () => ask('deleted'),
      ({ status }) => status === 200,
    );
    expect(await whoIs(server, token)).to.equal(401);
    await eventually(
      () => written(server),
      (names) => !names.includes(id ?? ''),
    );
  });
});

describe('exchanged tokens that have expired', () => {
  it('are deleted at once by any of the replicas, and no others', async () => {
    const cluster = await bareCluster();
    const sweepers: Sweeper[] = [];
    try {
      const now = Date.now();
      const minutes = (count: number) => new Date(now + count * 60_000).toISOString().replace(/\.\d+Z$/, 'Z');
      const exchanged = { exchange: { issuer: 'https://ci.example.com', subject: branch } };
      const rows: AccessTokenRow[] = [];
      for (const [name, spec] of Object.entries({
        over: { ...exchanged, expiration: minutes(-1) },
        'over-too': { ...exchanged, expiration: minutes(-100) },
        valid: { ...exchanged, expiration: minutes(1) },
        // The owner of another token sees it in the list for a week.
        'of-a-person': { expiration: minutes(-1) },
      })) {
        const all = { owner: 'shop', description: name, tokenHash: '0'.repeat(64), issuedAt: minutes(-200), ...spec };
        await cluster.kubernetes.apply({ apiVersion: 'auth.platform.io/v1', kind: 'AccessToken', metadata: { name }, spec: all });
        const { body } = await cluster.kubernetes.call('GET', `/apis/auth.platform.io/v1/accesstokens/${name}`);
        rows.push(accessTokenRow(body as Parameters<typeof accessTokenRow>[0]));
      }
      const client = cluster.apiServer.asService;
      const log = createLog({ level: 'silent', format: 'json' });
      for (let count = 0; count < 2; count += 1) {
        const sweep = exchangedTokenSweep({ client, now: () => new Date(now) }, { values: () => rows.values() });
        const sweeper = new Sweeper({ client, log }, { ...sweep, everyMs: 20 });
        sweepers.push(sweeper);
        sweeper.start();
      }

      const names = async () => {
        const { body } = await cluster.kubernetes.call('GET', '/apis/auth.platform.io/v1/accesstokens');
        return (body as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
      };
      await eventually(names, (left) => left.length === 2);
      expect(await names()).to.have.members(['valid', 'of-a-person']);
    } finally {
      for (const sweeper of sweepers) await sweeper.stop();
      await cluster.stop();
    }
  });
});
