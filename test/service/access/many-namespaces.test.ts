import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { afterEach, before, describe, it } from 'mocha';
import type { z } from 'zod';
import type { ProxiedRequest } from '../../cluster/faults/fault-proxy.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { failure, isReview, list, onReview, opinion, path } from './namespaces-support.ts';
import { aBinding, aNamespace, aRole, podRule } from './objects.ts';

describe('GET /auth/v1/namespaces of many', () => {
  /** Some reviews are held while others are answered, and a slow machine needs cached answers for longer than the default. */
  const config = { kubernetes: { accessCache: '10m' } };
  const server = forSuite(() => startFaultyServer({ config }));
  const many = Array.from({ length: 130 }, (_, index) => `many-${String(index).padStart(3, '0')}`);

  /** Each person has one token: the cache is keyed by token. */
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
  const reviews = () => server.faults.requests.filter(isReview).length;

  before(async () => {
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
    // Roles have just changed, and answers are cached for one second only until they have settled.
    await eventually(
      async () => {
        await ask('&verb=get&limit=20');
        await sleep(1_100);
        server.faults.forgetRequests();
        await ask('&verb=get&limit=20');
        return reviews();
      },
      (count) => count === 0,
    );
  });
  afterEach(() => server.faults.mend());

  it('asks the API server about those that it shows, and a few more, and not at all while it knows', async () => {
    const reviewsFor = async (query: string) => {
      server.faults.forgetRequests();
      await ask(query);
      return reviews();
    };
    expect(await reviewsFor('&verb=list&limit=20')).to.be.within(20, 20 + 1 + 16);
    expect((await ask('&verb=list&limit=20')).total).to.be.at.least(130);
    expect(await reviewsFor('&verb=list&limit=20')).to.equal(0);
    server.faults.forgetRequests();
    expect(await ask('&verb=list&limit=20', 'bob')).to.have.property('total', 1);
    expect(reviews()).to.be.within(2, 1 + 16);
  });

  it('never shows a namespace that another authorizer denies, and leaves it out of the total from then on', async () => {
    const { total } = await ask('&verb=watch&limit=1');
    opinion(server.faults, ({ namespace, verb }) => (namespace === 'many-077' && verb === 'patch' ? false : undefined));
    const shown: string[] = [];
    for (let page = 1; page <= 4; page += 1) shown.push(...namesOf(await ask(`&verb=patch&limit=50&page=${page}`)));
    expect(shown).to.include.members(many.filter((name) => name !== 'many-077'));
    expect(shown).not.to.include('many-077');
    expect((await ask('&verb=patch&limit=1')).total).to.equal(total - 1);
    expect(namesOf(await ask('&verb=patch&filterBy=name,many-077'))).to.deep.equal([]);
  });

  it('asks about every one where another authorizer allows more', async () => {
    opinion(server.faults, ({ namespace, verb }) =>
      verb === 'watch' ? namespace?.startsWith('many-') === true && namespace !== 'many-001' : undefined,
    );

    const { total, items } = await ask('&verb=watch&limit=3&filterBy=name,many-00', 'nobody');
    expect([total, items.map(({ metadata }) => metadata.name)]).to.deep.equal([9, ['many-000', 'many-002', 'many-003']]);
  });

  it('LIM-11 lets no caller keep others from lists that take all reviews', async () => {
    /** Reviews before those of each namespace: the one about all namespaces, and the sample. */
    const beforeAll = 1 + 8;
    const release = Promise.withResolvers<void>();
    const verbs = ['get', 'list', 'watch', 'create'];
    const answerThose = (beyond: (answer: () => void, fail: () => void) => void, asks: (request: ProxiedRequest) => boolean) => {
      const seen = new Map<string, number>();
      server.faults.inject(
        onReview(({ review, response }) => {
          const { verb = '', namespace = '' } = review.spec?.resourceAttributes ?? {};
          review.status = { allowed: namespace.startsWith('many-') };
          const count = (seen.get(verb) ?? 0) + 1;
          seen.set(verb, count);
          const reply = () => response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(review));
          if (count <= beforeAll) reply();
          else beyond(reply, () => response.writeHead(500).end());
        }),
        (request) => isReview(request) && asks(request),
      );
    };
    const statusOf = async (verb: string, token: string) => (await server.request(`${path}?resource=pods&verb=${verb}`, { token })).status;
    const [greedy, other] = [await server.token('alice'), await server.token('carol')];
    const isGreedy = ({ headers }: ProxiedRequest) => headers.authorization === `Bearer ${greedy}`;
    // The failing reviews leave the other authorizer known to the service, and no list cached.
    answerThose((_reply, fail) => fail(), isGreedy);
    for (const verb of verbs) expect(await statusOf(verb, greedy)).to.be.at.least(500);
    server.faults.mend();

    let held = 0;
    server.faults.inject(
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

  it('AUZ-11 is 503 if the API server is gone', async () => {
    await server.relay.cut();
    const response = await server.request(`${path}?verb=create&resource=pods`, { as: 'viewer' });

    expect(response.status).to.equal(503);
    expect(response.headers.get('retry-after')).to.match(/^\d+$/);
    expect(failure.parse(await response.json()).reason).to.equal('ServiceUnavailable');
    await server.relay.start();
  });
});
