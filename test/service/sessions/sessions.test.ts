import { expect } from 'chai';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { json, never } from '../login/provider/answers.ts';
import { Browser, type BrowserRequest, type Reply } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster, type Service } from '../login/support.ts';
import { expiresCookie, type LoggedIn, session, sessionManifest, sessionObject, sessionsPath, tokens } from './support.ts';

interface Item {
  metadata: { name: string };
  spec: Record<string, string>;
  current?: true;
}

const path = '/auth/v1/sessions';
const itemsOf = ({ body }: Reply) => (body as { items: Item[] }).items;
const namesOf = (reply: Reply) => itemsOf(reply).map(({ metadata }) => metadata.name);
const nameOf = (one: LoggedIn) => one.path.split('/').at(-1) ?? '';
const unknown = `s-${'0'.repeat(64)}`;

describe('the sessions of users', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  const service = forSuite(() => cluster.service({ provider, config: { login: { perMinute: 100_000 } } }));
  const other = forSuite(() => cluster.service({ provider }));

  before(async () => {
    const rules = [{ apiGroups: ['auth.platform.io'], resources: ['sessions'], verbs: ['list', 'delete'] }];
    const metadata = { name: 'session-keeper', namespace: serviceNamespace };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'keeper@example.com' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'session-keeper' };
    await cluster.kubernetes.apply(
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata, subjects, roleRef },
    );
  });

  let people = 0;
  /** From here on, that person logs in; a new one without a name. */
  const become = (name?: string) => {
    people += 1;
    const sub = name ?? `person-${people}`;
    provider.person = { ...provider.person, sub, email: `${sub}@example.com` };
  };
  beforeEach(() => {
    provider.misbehave();
    provider.forgetRequests();
    become();
  });

  const keeper = async () => {
    become('keeper');
    return session(service);
  };
  const write = ({ browser }: LoggedIn, method: 'DELETE', url: string, { headers, ...rest }: BrowserRequest = {}) =>
    browser.request(url, { method, headers: { 'sec-fetch-site': 'same-origin', ...headers }, ...rest });
  const isIn = async ({ secret }: LoggedIn, { url }: Service = service) => {
    const browser = new Browser(url);
    browser.cookies.set('atrium_session', secret);
    return (await browser.info('v2')).status === 200;
  };
  const whenOut = (one: LoggedIn, replica?: Service) =>
    eventually(
      () => isIn(one, replica),
      (stillIn) => !stillIn,
    );

  describe('GET /auth/v1/sessions', () => {
    it('lists one’s own, the latest first, with a mark at the one that asks, and nothing secret', async () => {
      const first = await session(service, { browser: new Browser(service.url) });
      cluster.clock.advance(2);
      const second = await session(service);
      become();
      await session(service);
      const reply = await second.browser.request(path, { headers: { 'user-agent': 'x' } });

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
      for (const secret of [second.secret, second.handle, spec.sealed ?? '', 'sealed', 'eyJ']) expect(reply.text).to.not.include(secret);
    });

    it('lists them for callers who keep tokens, too, with none marked as current', async () => {
      const one = await session(service);
      const { bearer } = await tokens(service);
      const reply = await new Browser(service.url).request(path, { headers: { authorization: `Bearer ${bearer}` } });

      expect(namesOf(reply)).to.deep.equal([nameOf(one)]);
      expect(reply.text).to.not.include('"current"');
      const { user } = one;
      expect(namesOf(await one.browser.request(`${path}?user=${user}`)), 'by name').to.deep.equal([nameOf(one)]);
    });

    it('lists another’s for who may list sessions, and is 403 for all others, whether or not there is such a user', async () => {
      const one = await session(service);
      become();
      const stranger = await session(service);
      for (const user of [one.user, 'nobody-at-all']) {
        const refused = await stranger.browser.request(`${path}?user=${user}`);
        expect(refused.status).to.equal(403);
        expect(refused.body)
          .to.have.property('message')
          .that.match(/cannot list resource "sessions".* in the namespace/);
      }
      const asked = await keeper();
      expect(namesOf(await asked.browser.request(`${path}?user=${one.user}`))).to.deep.equal([nameOf(one)]);
      expect(namesOf(await asked.browser.request(`${path}?user=nobody-at-all`))).to.deep.equal([]);
    });

    it('filters, sorts and pages', async () => {
      const all: LoggedIn[] = [];
      for (let n = 0; n < 3; n += 1) {
        all.unshift(await session(service));
        cluster.clock.advance(2);
      }
      const [latest] = all;
      const get = (query: string) => (latest ?? all[0])?.browser.request(`${path}?${query}`) ?? Promise.reject(new Error('nobody'));
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

    it('shows none that is over', async () => {
      const one = await session(service);
      const manifest = sessionManifest('an-old-secret', { expiration: Date.now() + 86_400_000, idleExpiration: Date.now() - 1_000 });
      const spec = { ...manifest.spec, user: one.user, subjectName: `person-${people}@example.com` };
      await cluster.kubernetes.call('POST', sessionsPath, { ...manifest, spec });

      expect(namesOf(await one.browser.request(path))).to.deep.equal([nameOf(one)]);
    });
  });

  describe('DELETE /auth/v1/sessions/{name}', () => {
    it('ends another one of one’s own, on every replica, and its tokens at the provider', async () => {
      const [lost, mine] = [await session(service), await session(service)];
      expect(await isIn(lost, other)).to.equal(true);
      const reply = await write(mine, 'DELETE', `${path}/${nameOf(lost)}`);

      expect(reply.status, reply.text).to.equal(204);
      expect(reply.headers.get('warning')).to.equal(null);
      expect(await isIn(lost)).to.equal(false);
      await whenOut(lost, other);
      expect(await isIn(mine)).to.equal(true);
      expect(provider.hits('revocation')).to.equal(1);
      expect(namesOf(await mine.browser.request(path))).to.deep.equal([nameOf(mine)]);
      const events = service.auditLines.map((line): Record<string, unknown> => JSON.parse(line));
      expect(events.at(-1)).to.deep.include({ audit: 'LoggedOut', target: mine.user, outcome: 'success', code: 204 });
    });

    it('ends the one that asks, and takes its cookie', async () => {
      const mine = await session(service);
      const reply = await write(mine, 'DELETE', `${path}/${nameOf(mine)}`);

      expect(reply.status).to.equal(204);
      expect(expiresCookie(reply)).to.equal(true);
      expect(await isIn(mine)).to.equal(false);
    });

    it('ends one for its owner who comes with a token', async () => {
      const mine = await session(service);
      const { bearer } = await tokens(service);
      const reply = await new Browser(service.url).request(`${path}/${nameOf(mine)}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${bearer}` },
      });

      expect(reply.status, reply.text).to.equal(204);
      expect(await isIn(mine)).to.equal(false);
      expect((await new Browser(service.url).info('v2', bearer)).status, 'the token goes on').to.equal(200);
    });

    it('is 403 for another’s, whether or not there is one, and ends nothing', async () => {
      const theirs = await session(service);
      become();
      const mine = await session(service);
      const [refused, none] = [await write(mine, 'DELETE', `${path}/${nameOf(theirs)}`), await write(mine, 'DELETE', `${path}/${unknown}`)];

      expect([refused.status, none.status]).to.deep.equal([403, 403]);
      expect(refused.text.replaceAll(nameOf(theirs), 'N')).to.equal(none.text.replaceAll(unknown, 'N'));
      expect(await isIn(theirs)).to.equal(true);
      expect((await write(mine, 'DELETE', `${path}/nonsense`)).status).to.equal(404);
    });

    it('ends another’s for who may delete sessions', async () => {
      const theirs = await session(service);
      const asked = await keeper();
      const reply = await write(asked, 'DELETE', `${path}/${nameOf(theirs)}`);

      expect(reply.status, reply.text).to.equal(204);
      expect(expiresCookie(reply)).to.equal(false);
      await whenOut(theirs);
      expect((await write(asked, 'DELETE', `${path}/${nameOf(theirs)}`)).status).to.equal(404);
      const events = service.auditLines.map((line): Record<string, unknown> => JSON.parse(line));
      expect(events.at(-1)).to.deep.include({ audit: 'SessionDeleted', target: theirs.user, outcome: 'success', code: 204 });
      expect(events.at(-1)?.actor).to.have.property('name', 'keeper@example.com');
    });

    it('refuses other sites with a cookie', async () => {
      const [lost, mine] = [await session(service), await session(service)];
      for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }] as Record<string, string>[]) {
        for (const url of [path, `${path}/${nameOf(lost)}`]) {
          const reply = await mine.browser.request(url, { method: 'DELETE', headers });
          expect(reply.status).to.equal(403);
          expect(reply.body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
        }
      }
      expect(await isIn(lost)).to.equal(true);
    });

    it('tries without a change, and keeps to preconditions', async () => {
      const [lost, mine] = [await session(service), await session(service)];
      const url = `${path}/${nameOf(lost)}`;
      const body = JSON.stringify({ preconditions: { uid: 'another' } });

      expect((await write(mine, 'DELETE', `${url}?dryRun=All`)).status).to.equal(204);
      expect((await write(mine, 'DELETE', url, { body, headers: { 'content-type': 'application/json' } })).status).to.equal(409);
      expect(await isIn(lost)).to.equal(true);
      expect(provider.hits('revocation')).to.equal(0);
    });

    for (const [what, answer] of Object.entries({ fails: json(500, {}), 'never answers': never })) {
      it(`ends it when the provider ${what}`, async () => {
        const [lost, mine] = [await session(service), await session(service)];
        provider.misbehave({ answer: { revocation: answer } });
        const reply = await write(mine, 'DELETE', `${path}/${nameOf(lost)}`);

        expect(reply.status).to.equal(204);
        expect(reply.headers.get('warning')).to.equal('199 - "identity provider not reached"');
        expect(await isIn(lost)).to.equal(false);
      });
    }
  });

  describe('DELETE /auth/v1/sessions', () => {
    it("ends everything that a user has opened, on every replica, and no other user's", async () => {
      become();
      const theirs = await session(service);
      become();
      const all: LoggedIn[] = [];
      for (let n = 0; n < 12; n += 1) all.push(await session(n % 2 === 0 ? service : other));
      const { bearer } = await tokens(service);
      const [mine] = all as [LoggedIn];
      const reply = await write(mine, 'DELETE', path);

      expect(reply.status, reply.text).to.equal(204);
      expect(expiresCookie(reply)).to.equal(true);
      for (const one of all) {
        expect(await isIn(one)).to.equal(false);
        await whenOut(one, other);
        expect(await sessionObject(cluster.kubernetes, one.path)).to.equal(undefined);
      }
      const ended = provider.requests.filter(({ endpoint }) => endpoint === 'revocation').map(({ parameters }) => parameters.get('token'));
      // Those that the provider did not take in the two tests before are sent again.
      expect(new Set(ended).size).to.be.within(12, 14);
      for (const { url } of [service, other]) {
        await eventually(
          () => new Browser(url).info('v2', bearer),
          ({ status }) => status === 401,
        );
      }
      expect(await isIn(theirs)).to.equal(true);
      expect(await isIn(await session(service)), 'after another log-in').to.equal(true);
    });

    it('ends another’s for who may delete sessions', async () => {
      const theirs = await session(service);
      become();
      const stranger = await session(service);
      const asked = await keeper();

      for (const user of [theirs.user, 'nobody-at-all'])
        expect((await write(stranger, 'DELETE', `${path}?user=${user}`)).status).to.equal(403);
      expect(await isIn(theirs)).to.equal(true);
      const reply = await write(asked, 'DELETE', `${path}?user=${theirs.user}`);
      expect(reply.status, reply.text).to.equal(204);
      expect(expiresCookie(reply)).to.equal(false);
      await whenOut(theirs);
      expect(await isIn(asked)).to.equal(true);
      expect((await write(asked, 'DELETE', `${path}?user=nobody-at-all`)).status).to.equal(404);
      const events = service.auditLines.map((line): Record<string, unknown> => JSON.parse(line));
      expect(events.findLast(({ audit }) => audit === 'SessionDeleted')).to.deep.include({ target: theirs.user, outcome: 'success' });
    });

    it('ends nothing by half when the API server is out of reach', async () => {
      const mine = await session(service);
      expect((await mine.browser.request(path)).status).to.equal(200);
      await service.relay.cut();
      const reply = await write(mine, 'DELETE', path);
      await service.relay.mend();

      expect(reply.status).to.be.oneOf([503, 504]);
      expect(await sessionObject(cluster.kubernetes, mine.path)).to.not.equal(undefined);
    });
  });

  it('are for logged-in users only', async () => {
    for (const [method, url] of [
      ['GET', path],
      ['DELETE', path],
      ['DELETE', `${path}/${unknown}`],
    ] as const) {
      const reply = await new Browser(service.url).request(url, { method });
      expect(reply.status).to.equal(401);
      expect(reply.headers.get('www-authenticate')).to.match(/^Bearer realm="atrium"/);
    }
  });

  it('are not there when that is turned off, and login goes on', async () => {
    const without = await cluster.service({ provider, config: { features: { sessions: false } } });
    const one = await session(without);
    expect((await one.browser.request(path)).status).to.equal(404);
    expect(await isIn(one, without)).to.equal(true);
    await without.stop();
  });
});
