import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { json, never } from '../login/provider/answers.ts';
import { Browser, type BrowserRequest } from '../login/provider/browser.ts';
import {
  allowKeeper,
  expiresCookie,
  isIn,
  keeper,
  type LoggedIn,
  nameOf,
  namesOf,
  operations,
  session,
  sessionObject,
  tokens,
  twoReplicas,
  unknownSession,
  whenOut,
} from './support.ts';

describe('the end of sessions', () => {
  const { cluster, provider, service, other } = twoReplicas();
  before(() => allowKeeper(cluster.kubernetes));
  beforeEach(() => {
    provider.become();
  });

  const end = ({ browser }: LoggedIn, url: string, { headers, ...rest }: BrowserRequest = {}) =>
    browser.request(url, { method: 'DELETE', headers: { 'sec-fetch-site': 'same-origin', ...headers }, ...rest });

  describe('DELETE /auth/v1/sessions/{name}', () => {
    it('ends another session of the caller, on every replica, and its tokens at the provider', async () => {
      const [lost, mine] = [await session(service), await session(service)];
      expect(await isIn(lost, other)).to.equal(true);
      const reply = await end(mine, `${operations}/${nameOf(lost)}`);

      expect(reply.status, reply.text).to.equal(204);
      expect(reply.headers.get('warning')).to.equal(null);
      expect(await isIn(lost, service)).to.equal(false);
      await whenOut(lost, other);
      expect(await isIn(mine, service)).to.equal(true);
      expect(provider.hits('revocation')).to.equal(1);
      expect(namesOf(await mine.browser.request(operations))).to.deep.equal([nameOf(mine)]);
      const events = service.auditLines.map((line): Record<string, unknown> => JSON.parse(line));
      expect(events.at(-1)).to.deep.include({ audit: 'LoggedOut', target: mine.user, outcome: 'success', code: 204 });
    });

    it('ends the session of the request, and expires its cookie', async () => {
      const mine = await session(service);
      const reply = await end(mine, `${operations}/${nameOf(mine)}`);

      expect(reply.status).to.equal(204);
      expect(expiresCookie(reply)).to.equal(true);
      expect(await isIn(mine, service)).to.equal(false);
    });

    it('ends one for its owner with a bearer token', async () => {
      const mine = await session(service);
      const { bearer } = await tokens(service);
      const reply = await new Browser(service.url).request(`${operations}/${nameOf(mine)}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${bearer}` },
      });

      expect(reply.status, reply.text).to.equal(204);
      expect(await isIn(mine, service)).to.equal(false);
      expect((await new Browser(service.url).info('v2', bearer)).status, 'the token goes on').to.equal(200);
    });

    it('is 403 for another user’s, whether or not it exists, and ends nothing', async () => {
      const theirs = await session(service);
      provider.become();
      const mine = await session(service);
      const [refused, none] = [await end(mine, `${operations}/${nameOf(theirs)}`), await end(mine, `${operations}/${unknownSession}`)];

      expect([refused.status, none.status]).to.deep.equal([403, 403]);
      expect(refused.text.replaceAll(nameOf(theirs), 'N')).to.equal(none.text.replaceAll(unknownSession, 'N'));
      expect(await isIn(theirs, service)).to.equal(true);
      expect((await end(mine, `${operations}/nonsense`)).status).to.equal(404);
    });

    it('ends another user’s for callers who may delete sessions', async () => {
      const theirs = await session(service);
      const asked = await keeper(service, provider);
      const reply = await end(asked, `${operations}/${nameOf(theirs)}`);

      expect(reply.status, reply.text).to.equal(204);
      expect(expiresCookie(reply)).to.equal(false);
      await whenOut(theirs, service);
      expect((await end(asked, `${operations}/${nameOf(theirs)}`)).status).to.equal(404);
      const events = service.auditLines.map((line): Record<string, unknown> => JSON.parse(line));
      expect(events.at(-1)).to.deep.include({ audit: 'SessionDeleted', target: theirs.user, outcome: 'success', code: 204 });
      expect(events.at(-1)?.actor).to.have.property('name', 'keeper@example.com');
    });

    it('refuses other sites with a cookie', async () => {
      const [lost, mine] = [await session(service), await session(service)];
      for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }] as Record<string, string>[]) {
        for (const url of [operations, `${operations}/${nameOf(lost)}`]) {
          const reply = await mine.browser.request(url, { method: 'DELETE', headers });
          expect(reply.status).to.equal(403);
          expect(reply.body).to.have.nested.property('details.causes[0].reason', 'CrossSiteRequest');
        }
      }
      expect(await isIn(lost, service)).to.equal(true);
    });

    it('changes nothing on a dry run, and checks preconditions', async () => {
      const [lost, mine] = [await session(service), await session(service)];
      const url = `${operations}/${nameOf(lost)}`;
      const body = JSON.stringify({ preconditions: { uid: 'another' } });

      expect((await end(mine, `${url}?dryRun=All`)).status).to.equal(204);
      expect((await end(mine, url, { body, headers: { 'content-type': 'application/json' } })).status).to.equal(409);
      expect(await isIn(lost, service)).to.equal(true);
      expect(provider.hits('revocation')).to.equal(0);
    });

    for (const [what, answer] of Object.entries({ fails: json(500, {}), 'never answers': never })) {
      it(`ends it when the provider ${what}`, async () => {
        const [lost, mine] = [await session(service), await session(service)];
        provider.misbehave({ answer: { revocation: answer } });
        const reply = await end(mine, `${operations}/${nameOf(lost)}`);

        expect(reply.status).to.equal(204);
        expect(reply.headers.get('warning')).to.equal('199 - "identity provider not reached"');
        expect(await isIn(lost, service)).to.equal(false);
      });
    }
  });

  describe('DELETE /auth/v1/sessions', () => {
    it("ends everything that a user has opened, on every replica, and no other user's", async () => {
      provider.become();
      const theirs = await session(service);
      provider.become();
      const all: LoggedIn[] = [];
      for (let n = 0; n < 12; n += 1) all.push(await session(n % 2 === 0 ? service : other));
      const { bearer } = await tokens(service);
      const [mine] = all as [LoggedIn];
      // Sessions of the other replica are known here once the watch has delivered them.
      await eventually(
        async () => namesOf(await mine.browser.request(operations)),
        ({ length }) => length === all.length,
      );
      const reply = await end(mine, operations);

      expect(reply.status, reply.text).to.equal(204);
      expect(expiresCookie(reply)).to.equal(true);
      for (const one of all) {
        expect(await isIn(one, service)).to.equal(false);
        await whenOut(one, other);
        expect(await sessionObject(cluster.kubernetes, one.path)).to.equal(undefined);
      }
      // Revocations that the provider missed are repeated later.
      await eventually(
        () => new Set(provider.revocationsOf(String(provider.person.sub))).size,
        (size) => size === 12,
      );
      for (const { url } of [service, other]) {
        await eventually(
          () => new Browser(url).info('v2', bearer),
          ({ status }) => status === 401,
        );
      }
      expect(await isIn(theirs, service)).to.equal(true);
      expect(await isIn(await session(service), service), 'after another log-in').to.equal(true);
    });

    it('ends another user’s for callers who may delete sessions', async () => {
      const theirs = await session(service);
      provider.become();
      const stranger = await session(service);
      const asked = await keeper(service, provider);

      for (const user of [theirs.user, 'nobody-at-all']) expect((await end(stranger, `${operations}?user=${user}`)).status).to.equal(403);
      expect(await isIn(theirs, service)).to.equal(true);
      const reply = await end(asked, `${operations}?user=${theirs.user}`);
      expect(reply.status, reply.text).to.equal(204);
      expect(expiresCookie(reply)).to.equal(false);
      await whenOut(theirs, service);
      expect(await isIn(asked, service)).to.equal(true);
      expect((await end(asked, `${operations}?user=nobody-at-all`)).status).to.equal(404);
      const events = service.auditLines.map((line): Record<string, unknown> => JSON.parse(line));
      expect(events.findLast(({ audit }) => audit === 'SessionDeleted')).to.deep.include({ target: theirs.user, outcome: 'success' });
    });

    it('ends nothing partially when the API server cannot be reached', async () => {
      const mine = await session(service);
      expect((await mine.browser.request(operations)).status).to.equal(200);
      await service.relay.cut();
      const reply = await end(mine, operations);
      await service.relay.mend();

      expect(reply.status).to.be.oneOf([503, 504]);
      expect(await sessionObject(cluster.kubernetes, mine.path)).to.not.equal(undefined);
    });
  });
});
