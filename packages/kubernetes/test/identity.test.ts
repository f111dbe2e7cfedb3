import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { IdentityCache } from '@atrium/kubernetes/identity.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { expect } from 'chai';
import { UnsecuredJWT } from 'jose';
import { type Answer, bearer, clientOf, FakeApiServer, failureOf, forever, inTurn, json, status } from './fake-api-server.ts';

const userInfo = { username: 'jane', uid: 'u1', groups: ['dev', 'system:authenticated'], extra: { scopes: ['a'] } };
const review =
  (status: unknown): Answer =>
  (_request, response) =>
    json(response, 201, { kind: 'SelfSubjectReview', status });
const accept = review({ userInfo });
const refuse: Answer = (_request, response) => status(response, 401, 'Unauthorized');

describe('the user of a token', () => {
  let server: FakeApiServer;
  let apiServer: KubernetesClient;
  let metrics: Metrics;
  let now: number;
  let identities: IdentityCache;

  const identify = (name: string, signal = forever()) => identities.identify(bearer(name), signal);

  beforeEach(async () => {
    server = await new FakeApiServer().start();
    server.answer(accept);
    metrics = new Metrics();
    apiServer = clientOf(server, 60_000, metrics);
    now = 0;
    identities = new IdentityCache({ apiServer, metrics, clock: () => now, now: () => new Date(1_800_000_000_000 + now) });
  });
  afterEach(async () => {
    await apiServer.close();
    await server.stop();
  });

  it('comes from a SelfSubjectReview with that token', async () => {
    const caller = await identify('jane');

    expect(caller).to.deep.equal({
      ...bearer('jane'),
      identity: { name: 'jane', uid: 'u1', groups: ['dev', 'system:authenticated'], extra: { scopes: ['a'] } },
    });
    expect(server.requests[0]).to.include({ method: 'POST', path: '/apis/authentication.k8s.io/v1/selfsubjectreviews' });
    expect(server.requests[0]?.headers.authorization).to.equal('Bearer token-of-jane');
  });

  it('is cached for 60 s, separately for each token', async () => {
    await identify('jane');
    now = 59_999;
    await identify('jane');
    expect(server.requests).to.have.length(1);
    await identify('bob');
    now = 60_000;
    await identify('jane');

    expect(server.requests.map(({ headers }) => headers.authorization)).to.deep.equal([
      'Bearer token-of-jane',
      'Bearer token-of-bob',
      'Bearer token-of-jane',
    ]);
    expect(await metrics.registry.metrics()).to.include('atrium_cache_entries{cache="identity"} 2');
  });

  it('is not kept longer than the token itself', async () => {
    const token = new UnsecuredJWT({}).setExpirationTime(1_800_000_010).encode();
    const ask = () => identities.identify({ token, hash: 'short' }, forever());
    await ask();
    now = 9_999;
    await ask();
    expect(server.requests).to.have.length(1);
    now = 10_000;
    await ask();

    expect(server.requests).to.have.length(2);
  });

  it('is asked again at once where the API server has refused a call with that token', async () => {
    await identify('jane');
    await identify('bob');
    server.answer(refuse);
    const call = { method: 'GET', path: '/api/v1/namespaces', call: 'list namespaces', signal: forever() } as const;
    expect(await failureOf(apiServer.asCaller(bearer('jane')).request(call))).to.have.nested.property('status.code', 401);

    expect(await failureOf(identify('jane'))).to.have.nested.property('status.code', 401);
    expect(await identify('bob')).to.have.nested.property('identity.name', 'jane');
  });

  it('is 401 for a token that is refused, which is kept for 1 s at most', async () => {
    server.answer(inTurn(refuse, accept));
    const first = await failureOf(identify('jane'));
    now = 999;
    const second = await failureOf(identify('jane'));

    for (const refusal of [first, second]) {
      expect(refusal).to.have.nested.property('status.code', 401);
      expect(refusal).to.have.nested.property('headers.WWW-Authenticate', 'Bearer realm="atrium", error="invalid_token"');
    }
    expect(server.requests).to.have.length(1);
    now = 1000;
    expect((await identify('jane')).identity.name).to.equal('jane');
  });

  it('is 401 where the API server treats an unknown token as a missing one', async () => {
    server.answer(review({ userInfo: { username: 'system:anonymous', groups: ['system:unauthenticated'] } }));

    expect(await failureOf(identify('jane'))).to.have.nested.property('status.code', 401);
  });

  const unusable: [string, Answer][] = [
    ['an empty status', review({})],
    ['no name', review({ userInfo: { ...userInfo, username: '' } })],
    ['groups that are none', review({ userInfo: { ...userInfo, groups: 'system:masters' } })],
    ['no JSON', (_request, response) => response.writeHead(201).end('ok')],
    ['no such review', (_request, response) => status(response, 404, 'NotFound')],
    ['a reset', (_request, response) => response.destroy()],
  ];
  for (const [what, answer] of unusable) {
    it(`AUZ-11 is 503 after ${what}, and asked again the next time`, async () => {
      server.answer(answer);
      expect(await failureOf(identify('jane'))).to.have.nested.property('status.code', 503);
      server.answer(accept);

      expect((await identify('jane')).identity.name).to.equal('jane');
    });
  }

  it('AUZ-11 is 504 when the API server says nothing, and 503 when it is gone', async () => {
    server.answer(() => undefined);
    const impatient = clientOf(server, 100);
    identities = new IdentityCache({ apiServer: impatient, metrics, now: () => new Date() });
    expect(await failureOf(identify('jane'))).to.have.nested.property('status.code', 504);
    await impatient.close();
    identities = new IdentityCache({ apiServer, metrics, now: () => new Date() });
    await server.stop();

    expect(await failureOf(identify('jane'))).to.have.nested.property('status.code', 503);
  });

  it('is asked once for requests at the same time', async () => {
    const callers = await Promise.all(Array.from({ length: 50 }, () => identify('jane')));

    expect(new Set(callers.map(({ identity }) => identity.name))).to.deep.equal(new Set(['jane']));
    expect(server.requests).to.have.length(1);
  });
});
