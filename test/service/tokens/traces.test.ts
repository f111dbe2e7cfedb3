import { createLog } from '@atrium/http/telemetry/log.ts';
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { type AccessTokenRow, accessTokenRow, accessTokenSweep } from '../../../src/tokens/store.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant, isAllowed } from '../../support/grants.ts';
import { bareCluster } from '../sessions/support.ts';
import { aPerson, makePath, makeToken, serviceAccount, startTokenServer, storedToken, tokensPath, whoIs } from './tokens.ts';

const readable = [
  '/apis/auth.platform.io/v1/accesstokens',
  '/apis/auth.platform.io/v1/users',
  '/api/v1/events',
  '/api/v1/configmaps',
  '/api/v1/secrets',
];

describe('the trace of an access token', () => {
  const server = forSuite(() =>
    startTokenServer({
      objects: [aPerson('alice')],
      config: { log: { level: 'debug' }, users: { idleDays: 0 } },
      now: () => new Date(Date.now() + ahead),
    }),
  );
  let ahead = 0;

  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-token-reviews');
  });

  it('LEAK-01 is missing from log, audit lines, metrics, Events and objects', async () => {
    const { id, token } = await makeToken(server, 'alice', { description: 'canary' });
    const mistyped = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
    for (const text of [token, mistyped]) {
      await server.request('/auth/v2/users', { token: text });
      await server.request('/api/v2/token/info', { token: text });
      await server.request('/auth/v1/tokenreviews', { method: 'POST', as: 'viewer', body: { spec: { token: text } } });
      await server.request('/auth/v1/tokenreviews', { method: 'POST', as: 'viewer', body: { kind: 'Other', spec: { token: text } } });
      await server.request(makePath, { method: 'POST', token: text, body: { description: 'more' } });
    }
    await server.request(`${tokensPath}/${id}`, { method: 'DELETE', as: 'nobody' });
    const list = await server.request(tokensPath, { as: 'alice' });

    const places = new Map([
      ['log', server.logLines.join('')],
      ['audit', server.auditLines.join('')],
      ['metrics', await (await fetch(`${server.metricsURL}/metrics`)).text()],
      ['list', await list.text()],
    ]);
    for (const path of readable) places.set(path, JSON.stringify((await server.kubernetes.call('GET', path)).body));
    expect(places.get('log')).to.contain('CreateTokenReview');
    expect(places.get('audit')).to.contain('AccessTokenCreated').and.to.contain('AccessDenied');
    expect(places.get(readable[0] ?? '')).to.contain('canary');
    const secret = token.slice(21, 64);
    const leaks = [...places].filter(([, text]) => [token, mistyped, secret].some((one) => text.includes(one))).map(([place]) => place);
    expect(leaks).to.deep.equal([]);
  });

  it('is the time of its last use, noted at most every five minutes', async () => {
    const { id, token } = await makeToken(server, 'alice');
    const lastUse = async () => (await storedToken(server, id))?.status?.lastUsedTime;
    const versionOf = async () => (await storedToken(server, id))?.metadata.resourceVersion;
    expect(await lastUse()).to.equal(undefined);

    const before = Date.now();
    await whoIs(server, token);
    const first = await eventually(lastUse, (time) => time !== undefined);
    // Times have whole seconds.
    expect(Date.parse(first ?? '')).to.be.within(before - 999, Date.now());
    const version = await versionOf();
    for (let count = 0; count < 20; count += 1) await whoIs(server, token);
    const replica = await server.replica();
    try {
      for (let count = 0; count < 20; count += 1) await whoIs(server, token, replica.url);
      expect(await versionOf()).to.equal(version);

      // Both replicas see that the write is due, and one of them is first.
      ahead = 301_000;
      await Promise.all([whoIs(server, token, replica.url), whoIs(server, token, replica.url)]);
      const second = await eventually(lastUse, (time) => time !== first);
      expect(Date.parse(second ?? '') - Date.parse(first ?? '')).to.be.at.least(300_000);
      await eventually(
        async () => (await server.request(`${tokensPath}?fieldSelector=metadata.name%3D${id}`, { as: 'alice' })).text(),
        (shown) => shown.includes(second ?? 'no second'),
      );
    } finally {
      ahead = 0;
      await replica.stop();
    }
  });

  it('ends each watch with the token', async () => {
    await grant(server.kubernetes, 'alice', 'atrium-users-view');
    const { id, token } = await makeToken(server, 'alice');
    const watch = await eventually(
      () => server.request('/apis/auth.platform.io/v1/users?watch=true', { token }),
      ({ status }) => status === 200,
    );
    const reader = watch.body?.getReader();
    let isOpen = true;
    const read = async () => {
      for (let isDone = false; !isDone; ) isDone = (await reader?.read().catch(() => undefined))?.done ?? true;
      isOpen = false;
    };
    void read();

    await server.request(`${tokensPath}/${id}`, { method: 'DELETE', as: 'alice' });

    await eventually(
      () => isOpen,
      (found) => !found,
    );
  });

  it('is not recorded for a refused token, and fails no request where it cannot be recorded', async () => {
    const { id, token } = await makeToken(server, 'alice');
    await whoIs(server, `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`);
    expect((await storedToken(server, id))?.status?.lastUsedTime).to.equal(undefined);

    const role = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/atrium-access-tokens';
    await server.kubernetes.remove(role);
    const writing = { verb: 'patch', group: 'auth.platform.io', resource: 'accesstokens', subresource: 'status' };
    try {
      await eventually(
        () => isAllowed(server.kubernetes, serviceAccount, writing),
        (isSo) => !isSo,
      );
      expect(await whoIs(server, token)).to.include({ name: 'alice' });
      expect((await storedToken(server, id))?.status?.lastUsedTime).to.equal(undefined);
    } finally {
      await server.kubernetes.applyFile('access-tokens.yaml');
    }
  });
});

describe('access tokens that have expired', () => {
  it('are deleted a while later, by any of the replicas, and no others', async () => {
    const cluster = await bareCluster();
    const sweepers: Sweeper[] = [];
    try {
      const now = Date.now();
      const hours = (count: number) => new Date(now + count * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z');
      const week = 7 * 24;
      const ends = { long: hours(-week - 2), lately: hours(-week + 0.5), ahead: hours(1), unused: hours(1) };
      const rows: AccessTokenRow[] = [];
      for (const [name, expiration] of Object.entries(ends)) {
        const spec = { owner: 'jane', description: name, tokenHash: '0'.repeat(64), issuedAt: hours(-week - 3), expiration };
        await cluster.kubernetes.apply({ apiVersion: 'auth.platform.io/v1', kind: 'AccessToken', metadata: { name }, spec });
        const { body } = await cluster.kubernetes.call('GET', `/apis/auth.platform.io/v1/accesstokens/${name}`);
        const row = accessTokenRow(body as Parameters<typeof accessTokenRow>[0]);
        rows.push(name === 'unused' ? { ...row, createdAt: now - 38 * 86_400_000 } : row);
      }
      const client = cluster.apiServer.asService;
      const log = createLog({ level: 'silent', format: 'json' });
      for (let count = 0; count < 2; count += 1) {
        const sweep = accessTokenSweep({ client, now: () => new Date(now), unusedDays: 30 }, { values: () => rows.values() });
        const sweeper = new Sweeper({ client, log }, { ...sweep, everyMs: 20 });
        sweepers.push(sweeper);
        sweeper.start();
      }

      const names = async () => {
        const { body } = await cluster.kubernetes.call('GET', '/apis/auth.platform.io/v1/accesstokens');
        return (body as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
      };
      await eventually(names, (left) => left.length === 2);
      expect(await names()).to.have.members(['lately', 'ahead']);
    } finally {
      for (const sweeper of sweepers) await sweeper.stop();
      await cluster.stop();
    }
  });
});
