import { expect } from 'chai';
import { tokenInText } from '../../support/token-in-text.ts';
import { Browser } from '../login/provider/browser.ts';
import {
  allowKeeper,
  aService,
  isIn,
  itemsOf,
  keeper,
  type LoggedIn,
  nameOf,
  namesOf,
  operations,
  session,
  sessionManifest,
  sessionObject,
  sessionsPath,
  tokens,
  unknownSession,
} from './support.ts';

describe('GET /auth/v1/sessions', () => {
  const { cluster, provider, service } = aService();
  before(() => allowKeeper(cluster.kubernetes));
  beforeEach(() => provider.become());

  it('lists the caller’s own, the latest first, with the current one marked, and no secrets', async () => {
    const first = await session(service, { browser: new Browser(service.url) });
    cluster.clock.advance(2);
    const second = await session(service);
    provider.become();
    await session(service);
    const reply = await second.browser.request(operations, { headers: { 'user-agent': 'x' } });

    expect(reply.status, reply.text).to.equal(200);
    expect(reply.headers.get('cache-control')).to.equal('no-store');
    expect(reply.body).to.deep.include({ apiVersion: 'auth.platform.io/v1', kind: 'SessionList', total: 2 });
    expect(namesOf(reply)).to.deep.equal([nameOf(second), nameOf(first)]);
    const [current, earlier] = itemsOf(reply);
    expect(current?.current).to.equal(true);
    expect(earlier).to.not.have.property('current');
    expect(current?.spec).to.have.all.keys('user', 'subjectName', 'createdAt', 'expiration', 'idleExpiration', 'source', 'userAgent');
    expect(current?.spec).to.include({ user: second.user, source: '127.0.0.1' });
    const { spec } = (await sessionObject(cluster.kubernetes, second.path)) ?? { spec: { sealed: undefined } };
    for (const secret of [second.secret, second.handle, spec.sealed ?? '', 'sealed']) expect(reply.text).to.not.include(secret);
    expect(reply.text).to.not.match(tokenInText);
  });

  it('lists them for callers who store tokens, too, with none marked as current', async () => {
    const one = await session(service);
    const { bearer } = await tokens(service);
    const reply = await new Browser(service.url).request(operations, { headers: { authorization: `Bearer ${bearer}` } });

    expect(namesOf(reply)).to.deep.equal([nameOf(one)]);
    expect(reply.text).to.not.include('"current"');
    const { user } = one;
    expect(namesOf(await one.browser.request(`${operations}?user=${user}`)), 'by name').to.deep.equal([nameOf(one)]);
  });

  it('lists another user’s for callers who may list sessions, and is 403 for all others, whether or not the user exists', async () => {
    const one = await session(service);
    provider.become();
    const stranger = await session(service);
    for (const user of [one.user, 'nobody-at-all']) {
      const refused = await stranger.browser.request(`${operations}?user=${user}`);
      expect(refused.status).to.equal(403);
      expect(refused.body)
        .to.have.property('message')
        .that.match(/cannot list resource "sessions".* in the namespace/);
    }
    const asked = await keeper(service, provider);
    expect(namesOf(await asked.browser.request(`${operations}?user=${one.user}`))).to.deep.equal([nameOf(one)]);
    expect(namesOf(await asked.browser.request(`${operations}?user=nobody-at-all`))).to.deep.equal([]);
  });

  it('filters, sorts and pages', async () => {
    const all: LoggedIn[] = [];
    for (let n = 0; n < 3; n += 1) {
      all.unshift(await session(service));
      cluster.clock.advance(2);
    }
    const [latest] = all;
    const get = (query: string) => (latest ?? all[0])?.browser.request(`${operations}?${query}`) ?? Promise.reject(new Error('nobody'));
    const page = await get('limit=2&sortBy=createdAt');
    const { metadata } = page.body as { metadata: { continue: string; remainingItemCount: number } };
    const rest = await get(`limit=2&sortBy=createdAt&continue=${encodeURIComponent(metadata.continue)}`);

    expect(metadata.remainingItemCount).to.equal(1);
    expect([...namesOf(page), ...namesOf(rest)]).to.deep.equal(all.map(nameOf).reverse());
    expect(namesOf(await get(`fieldSelector=metadata.name=${nameOf(all[1] ?? latest ?? (all[0] as LoggedIn))}`))).to.have.length(1);
    expect(namesOf(await get('filterBy=source,127.0.0'))).to.have.length(3);
    expect(namesOf(await get('filterBy=source,10.0.0'))).to.have.length(0);
    for (const bad of [
      'filterBy=sealed,x',
      'sortBy=sealed',
      'fieldSelector=spec.sealed=x',
      'limit=0',
      'continue=x',
      `user=${'x'.repeat(300)}`,
    ])
      expect((await get(bad)).status, bad).to.equal(400);
  });

  it('shows no expired session', async () => {
    const one = await session(service);
    const manifest = sessionManifest('an-old-secret', { expiration: Date.now() + 86_400_000, idleExpiration: Date.now() - 1_000 });
    const spec = { ...manifest.spec, user: one.user, subjectName: provider.person.email };
    await cluster.kubernetes.call('POST', sessionsPath, { ...manifest, spec });

    expect(namesOf(await one.browser.request(operations))).to.deep.equal([nameOf(one)]);
  });
});

describe('the operations on sessions', () => {
  const { cluster, provider, service } = aService();

  it('are for logged-in users only', async () => {
    for (const [method, url] of [
      ['GET', operations],
      ['DELETE', operations],
      ['DELETE', `${operations}/${unknownSession}`],
    ] as const) {
      const reply = await new Browser(service.url).request(url, { method });
      expect(reply.status).to.equal(401);
      expect(reply.headers.get('www-authenticate')).to.match(/^Bearer realm="atrium"/);
    }
  });

  it('do not exist when they are turned off, and login still works', async () => {
    const without = await cluster.service({ provider, config: { features: { sessions: false } } });
    const one = await session(without);
    expect((await one.browser.request(operations)).status).to.equal(404);
    expect(await isIn(one, without)).to.equal(true);
    await without.stop();
  });
});
