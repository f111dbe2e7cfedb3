import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant, revoke } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser } from '../users/a-user.ts';
import { listUsers } from './review-answers.ts';

const role = 'atrium-users-view';

/** Answers are cached for ten minutes here, so only a change can end them. */
describe('cached answers', () => {
  const server = forSuite(() =>
    startServer({ config: { kubernetes: { accessCache: '10m' } }, objects: [aUser('first@example.com')], isReused: false }),
  );

  // Each person has one token, like a console: the cache is keyed by token.
  const tokens = new Map<Person, string>();
  const tokenOf = async (person: Person) => {
    const token = tokens.get(person) ?? (await server.token(person));
    tokens.set(person, token);
    return token;
  };
  const review = async (as: Person, more: object = {}) => {
    const body = { spec: listUsers, ...more };
    const answer = await server.request('/auth/v1/selfsubjectaccessreviews', { method: 'POST', token: await tokenOf(as), body });
    return { code: answer.status, body: (await answer.json()) as { status: { allowed: boolean }; apiVersion: string } };
  };
  const isAllowed = async (as: Person) => (await review(as)).body.status.allowed;
  const list = async (as: Person, query = 'limit=10') => server.request(`/auth/v2/users?${query}`, { token: await tokenOf(as) });
  const names = async (as: Person) => ((await (await list(as)).json()) as { items: { spec: { email: string } }[] }).items.length;
  /** Counts the reviews that the service has sent. */
  const calls = async () => {
    const text = await (await fetch(`${server.metricsURL}/metrics`)).text();
    const counts = text.matchAll(/^atrium_kubernetes_request_duration_seconds_count\{call="create self[^"]*".*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  /** Waits until the rights have been unchanged for so long that answers are cached for more than one second. */
  const isKept = () => {
    const ask = async () => {
      await review('viewer');
      await list('viewer');
    };
    return eventually(
      async () => {
        await ask();
        await sleep(1_100);
        const before = await calls();
        await ask();
        return (await calls()) - before;
      },
      (asked) => asked === 0,
    );
  };

  it('AUZ-07 end with the right, reviews and pages alike', async () => {
    await grant(server.kubernetes, 'viewer', role);
    await eventually(
      () => isAllowed('viewer'),
      (allowed) => allowed,
    );
    await isKept();
    expect((await list('viewer')).status).to.equal(200);
    await revoke(server.kubernetes, 'viewer', role);
    await eventually(
      () => isAllowed('viewer'),
      (allowed) => !allowed,
    );

    const refused = await list('viewer');
    expect(refused.status).to.equal(403);
    expect(await refused.json()).to.include({ kind: 'Status', reason: 'Forbidden' });
    expect((await list('admin')).status).to.equal(200);
  });

  it('AUZ-01 are not those of another caller who sends the same question', async () => {
    expect([await isAllowed('admin'), await isAllowed('nobody'), await isAllowed('admin'), await isAllowed('nobody')]).to.deep.equal([
      true,
      false,
      true,
      false,
    ]);
    expect((await list('nobody')).status).to.equal(403);
  });

  it('are those of the question as it was sent, and indented on request', async () => {
    const [ours, theirs] = [await review('admin'), await review('admin', { apiVersion: 'authorization.k8s.io/v1' })];
    expect([ours.code, ours.body.apiVersion, theirs.body.apiVersion]).to.deep.equal([
      201,
      'authorization.orchestrator.io/v1',
      'authorization.k8s.io/v1',
    ]);
    const again = await server.request('/auth/v1/selfsubjectaccessreviews?pretty=true', {
      method: 'POST',
      token: await tokenOf('admin'),
      body: { spec: listUsers },
    });
    expect(again.status).to.equal(201);
    expect(again.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(await again.text()).to.match(/^\{\n {2}"apiVersion"/);
  });

  it('end when a user is created, and errors are reported each time', async () => {
    const before = await names('admin');
    expect(await names('admin')).to.equal(before);
    await server.kubernetes.apply(aUser('second@example.com'));
    await eventually(
      () => names('admin'),
      (count) => count === before + 1,
    );

    for (const _time of [1, 2]) {
      const answer = await list('admin', 'limit=none');
      expect(answer.status).to.equal(400);
      expect(await answer.json()).to.have.nested.property('details.causes[0].field', 'limit');
    }
  });

  it('need a token that is known, and no other', async () => {
    const token = await tokenOf('admin');
    expect((await list('admin')).status).to.equal(200);
    expect((await server.request('/auth/v2/users?limit=10', { token: `${token}x` })).status).to.equal(401);
    expect((await server.request('/auth/v2/users?limit=10')).status).to.equal(401);
  });
});
