import type { Caller } from '@atrium/http/caller.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { AccessReviews } from '@atrium/kubernetes/access.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { expect } from 'chai';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { type Answer, bearer, clientOf, FakeApiServer, failureOf, forever, json, type SeenRequest, status } from './fake-api-server.ts';

const listUsers = { verb: 'list', group: 'auth.platform.io', resource: 'users' };
const review =
  (status: unknown): Answer =>
  (_request, response) =>
    json(response, 201, { kind: 'SelfSubjectAccessReview', status });
const allow = review({ allowed: true, reason: 'RBAC' });
const deny = review({ allowed: false });
const caller = (name: string): Caller => ({ ...bearer(name), identity: { name, uid: '', groups: [], extra: {} } });

describe('the permission of a caller', () => {
  let server: FakeApiServer;
  let apiServer: KubernetesClient;
  let metrics: Metrics;
  let now: number;
  let reviews: AccessReviews;

  const can = (name: string, access = listUsers, signal = forever()) => reviews.can(bearer(name), access, signal);
  function create(accessCacheMs = 5000): void {
    reviews = new AccessReviews({ apiServer, accessCacheMs, metrics, now: () => new Date(), clock: () => now });
  }

  beforeEach(async () => {
    server = await new FakeApiServer().start();
    server.answer(allow);
    metrics = new Metrics();
    apiServer = clientOf(server, 60_000, metrics);
    now = 100_000;
    create();
  });
  afterEach(async () => {
    await apiServer.close();
    await server.stop();
  });

  it('says the API server, asked as the caller', async () => {
    const access = { ...listUsers, verb: 'get', name: 'x', namespace: 'shop', subresource: 'status' };

    expect(await can('jane', access)).to.equal(true);
    expect(server.requests[0]).to.include({ method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews' });
    expect(server.requests[0]?.headers.authorization).to.equal('Bearer token-of-jane');
    expect(JSON.parse(server.requests[0]?.body ?? '')).to.deep.equal({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: access },
    });
  });

  it('returns the whole status, if there is one', async () => {
    server.answer(review({ allowed: false, denied: true, reason: 'no', evaluationError: 'hm', more: 1 }));
    const spec = { nonResourceAttributes: { path: '/metrics', verb: 'get' } };

    expect(await reviews.review(bearer('jane'), spec, forever())).to.deep.equal({
      allowed: false,
      denied: true,
      reason: 'no',
      evaluationError: 'hm',
    });
    expect(await reviews.review(bearer('bob'), { nonResourceAttributes: {} }, forever())).to.include({ allowed: false });
    expect(JSON.parse(server.requests[0]?.body ?? '').spec).to.deep.equal(spec);
  });

  it('is also asked for a path that is not a resource', async () => {
    expect(await reviews.canUsePath(bearer('jane'), { verb: 'get', path: '/metrics' }, forever())).to.equal(true);
    expect(JSON.parse(server.requests[0]?.body ?? '').spec).to.deep.equal({ nonResourceAttributes: { verb: 'get', path: '/metrics' } });
  });

  it('is kept for the cache time; a denial for 1 s', async () => {
    await can('jane');
    now += 4999;
    expect(await can('jane')).to.equal(true);
    expect(server.requests).to.have.length(1);
    server.answer(deny);
    now += 1;
    expect(await can('jane')).to.equal(false);
    now += 999;
    expect(await can('jane')).to.equal(false);
    expect(server.requests).to.have.length(2);
    server.answer(allow);
    now += 1;

    expect(await can('jane')).to.equal(true);
    expect(server.requests).to.have.length(3);
    expect(await metrics.registry.metrics()).to.include('atrium_cache_entries{cache="access"} 1');
  });

  it('is not kept at all with a cache time of 0', async () => {
    create(0);
    await can('jane');
    await can('jane');

    expect(server.requests).to.have.length(2);
  });

  it('is asked apart for each token and each member of the question, in whatever order they stand', async () => {
    await can('jane');
    await can('jane', { resource: 'users', verb: 'list', group: 'auth.platform.io' });
    expect(server.requests).to.have.length(1);
    const others = [
      { ...listUsers, verb: 'get' },
      { ...listUsers, group: '' },
      { ...listUsers, resource: 'groups' },
      { ...listUsers, namespace: 'shop' },
      { ...listUsers, name: 'shop' },
      { ...listUsers, subresource: 'shop' },
    ];
    for (const other of others) await can('jane', other);
    await can('bob');

    expect(server.requests).to.have.length(2 + others.length);
  });

  it('AUZ-01 is never answered with the permissions of another caller', async () => {
    create(50);
    server.answer(({ headers }, response) => {
      const answer = headers.authorization === 'Bearer token-of-admin' ? allow : deny;
      setTimeout(() => answer({} as SeenRequest, response), Math.random() * 3);
    });
    const names = ['admin', 'alice', 'bob'];
    const wrong: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      now += 17;
      await Promise.all(
        Array.from({ length: 150 }, async (_, index) => {
          const name = names[index % 3] ?? '';
          if ((await can(name)) !== (name === 'admin')) wrong.push(name);
        }),
      );
    }

    expect(wrong).to.deep.equal([]);
  });

  it('is asked once for equal questions at the same time, and a caller who goes away fails no other caller', async () => {
    let upstreamClosed = false;
    let answerAll: (() => void) | undefined;
    server.answer((request, response) => {
      response.on('close', () => {
        upstreamClosed = !response.writableFinished;
      });
      answerAll = () => allow(request, response);
      impatient.abort(new Error('gone'));
    });
    const impatient = new AbortController();
    const [first, ...others] = [failureOf(can('jane', listUsers, impatient.signal)), can('jane'), can('jane'), can('jane')] as const;
    expect(await first).to.equal(impatient.signal.reason);
    answerAll?.();

    expect(await Promise.all(others)).to.deep.equal([true, true, true]);
    expect(server.requests).to.have.length(1);
    expect(upstreamClosed).to.equal(false);
  });

  it('is not asked any longer when no caller waits for it', async () => {
    const goingAway = new AbortController();
    const closed = new Promise((resolve) => {
      server.answer((_request, response) => {
        response.on('close', () => resolve(true));
        goingAway.abort(new Error('gone'));
      });
    });
    const patient = clientOf(server, 60_000);
    reviews = new AccessReviews({ apiServer: patient, accessCacheMs: 5000, metrics, now: () => new Date() });
    expect(await failureOf(can('jane', listUsers, goingAway.signal))).to.equal(goingAway.signal.reason);
    expect(await closed).to.equal(true);
    server.answer(allow);

    expect(await can('jane')).to.equal(true);
    await patient.close();
  });

  it('AUZ-07 is asked again once a role or binding has changed', async () => {
    await can('jane');
    server.answer(deny);
    reviews.clear();

    expect(await can('jane')).to.equal(false);
  });

  it('AUZ-07 is neither kept nor shared when it was asked before a change and answered after it', async () => {
    let late: (() => void) | undefined;
    const asked = new Promise<void>((resolve) => {
      server.answer((request, response) => {
        late = () => allow(request, response);
        resolve();
      });
    });
    const before = can('jane');
    await asked;
    reviews.clear();
    server.answer(deny);
    expect(await can('jane')).to.equal(false);
    late?.();
    expect(await before).to.equal(true);

    expect(await can('jane')).to.equal(false);
  });

  it('AUZ-07 is kept for 1 s only while the API server itself may not have seen a change', async () => {
    reviews.clear();
    await can('jane');
    server.answer(deny);
    now += 1000;

    expect(await can('jane')).to.equal(false);
  });

  const unusable: [string, number, Answer][] = [
    ['an empty status', 503, review({})],
    ['no status', 503, (_request, response) => json(response, 201, {})],
    ['"true"', 503, review({ allowed: 'true' })],
    ['1', 503, review({ allowed: 1 })],
    ['no JSON', 503, (_request, response) => response.writeHead(201).end('allowed')],
    ['500', 503, (_request, response) => status(response, 500, 'InternalError')],
    ['no such review', 503, (_request, response) => status(response, 404, 'NotFound')],
    ['silence', 504, () => undefined],
    ['a reset', 503, (_request, response) => response.destroy()],
    ['429', 429, (_request, response) => status(response, 429, 'TooManyRequests')],
    ['401', 401, (_request, response) => status(response, 401, 'Unauthorized')],
    ['403', 403, (_request, response) => status(response, 403, 'Forbidden')],
  ];
  for (const [what, code, answer] of unusable) {
    it(`AUZ-11 is never a yes after ${what}, and not kept`, async () => {
      server.answer(answer);
      const client = clientOf(server, code === 504 ? 500 : 60_000);
      reviews = new AccessReviews({ apiServer: client, accessCacheMs: 60_000, metrics, now: () => new Date() });
      expect(await failureOf(can('jane'))).to.have.nested.property('status.code', code);
      server.answer(allow);

      // On a slow machine, an answer may come too late for the impatient client; a denial would be cached.
      const isAllowed = () => can('jane').catch((error: unknown) => (code === 504 ? undefined : Promise.reject(error)));
      expect(await eventually(isAllowed, (answered) => answered !== undefined)).to.equal(true);
      await client.close();
    });
  }

  it('is a no where an authorizer denies, whatever else is said', async () => {
    server.answer(review({ allowed: true, denied: true }));

    expect(await can('jane')).to.equal(false);
  });

  it('is required in the words of the API server', async () => {
    await reviews.require(caller('jane'), listUsers, forever());
    server.answer(deny);
    const error = await failureOf(
      reviews.require(caller('bob'), { ...listUsers, verb: 'get', name: 'x', subresource: 'status' }, forever()),
    );

    expect(error).to.have.deep.nested.property('status.details', { name: 'x', group: 'auth.platform.io', kind: 'users' });
    expect(error).to.have.property(
      'message',
      'users.auth.platform.io "x" is forbidden: User "bob" cannot get resource "users/status" in API group "auth.platform.io" at the cluster scope',
    );
  });
});
