import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { aPerson, makePath, makeToken, patchUser, recordOf, refusalOf, startTokenServer, storedToken, tokensPath } from './tokens.ts';

const day = 86_400;
const list = z.object({
  kind: z.literal('AccessTokenList'),
  apiVersion: z.literal('auth.platform.io/v1'),
  metadata: z.object({ resourceVersion: z.string(), continue: z.string(), remainingItemCount: z.int() }),
  total: z.int(),
  items: z.array(
    z.looseObject({
      kind: z.literal('AccessToken'),
      metadata: z.looseObject({ name: z.string(), uid: z.string() }),
      spec: z.strictObject({
        cluster: z.literal('local'),
        owner: z.string(),
        ownerEmail: z.string(),
        description: z.string(),
        issuedAt: z.string(),
        expiration: z.string(),
      }),
    }),
  ),
});

describe('access tokens', () => {
  const server = forSuite(() =>
    startTokenServer({
      objects: (['alice', 'bob', 'carol', 'manager'] as const).map((person) => aPerson(person)),
      config: { users: { accessTokens: { defaultDays: 30, maxDays: 60 } } },
    }),
  );

  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });

  const listOf = async (as: Person, query = '') => {
    const response = await server.request(`${tokensPath}${query}`, { as });
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    return list.parse(JSON.parse(text));
  };
  const remove = (id: string, as: Person, options: object = {}) =>
    server.request(`${tokensPath}/${id}`, { method: 'DELETE', as, ...options });
  const now = () => Math.floor(Date.now() / 1000);

  describe('POST /auth/v1/accesstoken', () => {
    it('gives a token that a scanner can tell, once, and keeps its hash with its owner', async () => {
      const response = await server.request(makePath, { method: 'POST', as: 'alice', body: { description: 'ci' } });
      const body = (await response.json()) as Record<string, unknown>;

      expect(response.status).to.equal(201);
      expect(response.headers.get('cache-control')).to.equal('no-store');
      expect(Object.keys(body).sort()).to.deep.equal(['description', 'expiration', 'id', 'timestamp', 'token']);
      const token = String(body.token);
      const [, signed = '', id, secret = '', checksum = ''] = /^(cat_([a-z2-7]{16})_([0-9A-Za-z]{43}))([0-9A-Za-z]{6})$/.exec(token) ?? [];
      expect(id).to.equal(body.id);
      const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
      const value = [...checksum].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
      expect(value).to.equal(crc32(signed));
      const { body: object } = await server.kubernetes.call('GET', `/apis/auth.platform.io/v1/accesstokens/${id}`);
      expect(object).to.have.nested.property('spec.tokenHash', hash('sha256', secret));
      expect(object).to.have.nested.property('spec.owner', recordOf('alice'));
      expect(object).to.have.nested.property('metadata.ownerReferences[0].kind', 'User');
      expect(JSON.stringify(object)).not.to.include(secret);
      // Each token is unique.
      const { token: second } = await makeToken(server, 'alice');
      expect(second).not.to.equal(token);
    });

    it('ends after users.accessTokens.defaultDays unless its maker says otherwise, and at most after maxDays', async () => {
      for (const body of [{ description: 'ci' }, { description: 'ci', expiration: 0 }]) {
        const before = now();
        const { timestamp, expiration } = await makeToken(server, 'alice', body);
        expect(timestamp).to.be.within(before, now());
        expect(expiration - timestamp).to.equal(30 * day);
      }
      const soon = now() + 390;
      expect((await makeToken(server, 'alice', { description: 'ci', expiration: soon })).expiration).to.equal(soon);
      const late = now() + 60 * day - 30;
      expect((await makeToken(server, 'alice', { description: 'ci', expiration: late })).expiration).to.equal(late);
    });

    it('names the field that is wrong', async () => {
      const wrong: [unknown, string][] = [
        [{}, 'description'],
        [{ description: '' }, 'description'],
        [{ description: '   ' }, 'description'],
        [{ description: 'x'.repeat(65) }, 'description'],
        [{ description: 7 }, 'description'],
        [{ description: 'line\nbreak' }, 'description'],
        [{ description: 'x', expiration: now() - 1 }, 'expiration'],
        [{ description: 'x', expiration: now() + 290 }, 'expiration'],
        [{ description: 'x', cluster: 'elsewhere' }, 'cluster'],
        [{ description: 'x', scope: { operations: ['ListUsers', 'ListUser'] } }, 'scope.operations[1]'],
        [{ description: 'x', expiration: -1 }, 'expiration'],
        [{ description: 'x', expiration: now() + 0.5 }, 'expiration'],
        [{ description: 'x', expiration: String(now() + 60) }, 'expiration'],
        [{ description: 'x', expiration: now() + 61 * day }, 'expiration'],
        [{ description: 'x', expiration: Number.MAX_SAFE_INTEGER }, 'expiration'],
      ];
      for (const [body, field] of wrong) {
        const response = await server.request(makePath, { method: 'POST', as: 'alice', body });
        const { code, details } = await refusalOf(response);
        expect([code, details?.causes[0]?.field], JSON.stringify(body)).to.deep.equal([400, field]);
      }
      for (const body of [
        { description: 'x', owner: 'somebody' },
        { description: 'x', __proto__: null, groups: ['system:masters'] },
        [],
        'x',
      ])
        expect((await server.request(makePath, { method: 'POST', as: 'alice', body })).status).to.equal(400);
      expect((await makeToken(server, 'alice', { description: 'ü'.repeat(64) })).description).to.have.lengthOf(64);
    });

    it('S11 refuses descriptions that hold an address, zero-width or direction characters', async () => {
      for (const description of ['bob@example.com', 'of bob@example.com', 'a\u200bb', 'a\u202eb', '\u2066a', 'soft\u00adhyphen']) {
        const response = await server.request(makePath, { method: 'POST', as: 'alice', body: { description } });
        const { code, details } = await refusalOf(response);
        expect([code, details?.causes[0]?.field], JSON.stringify(description)).to.deep.equal([400, 'description']);
      }
      expect((await makeToken(server, 'alice', { description: '夜间报告 – jeden Tag' })).description).to.equal('夜间报告 – jeden Tag');
    });

    it('is for callers with a valid User record', async () => {
      const nobody = await refusalOf(await server.request(makePath, { method: 'POST', as: 'nobody', body: { description: 'x' } }));
      expect([nobody.code, nobody.details?.causes[0]?.reason]).to.deep.equal([403, 'NoUserRecord']);
      expect((await server.request(makePath, { method: 'POST', body: { description: 'x' } })).status).to.equal(401);

      await patchUser(server, 'carol', { spec: { is_disabled: true } });
      // The service may not know of the user yet, and a token would then be created: hence the dry run.
      const refused = await eventually(
        () => server.request(`${makePath}?dryRun=All`, { method: 'POST', as: 'carol', body: { description: 'x' } }),
        ({ status }) => status === 403,
      );
      expect((await refusalOf(refused)).details?.causes[0]?.reason).to.equal('AccountDisabled');
      await patchUser(server, 'carol', { spec: { is_disabled: false } });
      await eventually(
        () => server.request(`${makePath}?dryRun=All`, { method: 'POST', as: 'carol', body: { description: 'x' } }),
        ({ status }) => status === 201,
      );
    });

    it('makes nothing with dryRun=All, and shows no token', async () => {
      const { total } = await listOf('carol');
      const response = await server.request(`${makePath}?dryRun=All`, { method: 'POST', as: 'carol', body: { description: 'x' } });
      const { id, token } = (await response.json()) as { id: string; token?: string };

      expect([response.status, token]).to.deep.equal([201, undefined]);
      expect(await storedToken(server, id)).to.equal(undefined);
      expect((await listOf('carol')).total).to.equal(total);
      expect(
        (await server.request(`${makePath}?dryRun=Some`, { method: 'POST', as: 'carol', body: { description: 'x' } })).status,
      ).to.equal(400);
    });

    it('makes no more than a hundred for one, however many are asked for at once', async () => {
      const answers = await Promise.all(
        Array.from({ length: 130 }, () => server.request(makePath, { method: 'POST', as: 'carol', body: { description: 'many' } })),
      );
      const statuses = answers.map(({ status }) => status);

      expect([statuses.filter((status) => status === 201).length, statuses.filter((status) => status === 409).length]).to.deep.equal([
        100, 30,
      ]);
      const refused = answers.find(({ status }) => status === 409);
      expect((await refusalOf(refused ?? new Response())).message).to.contain('a user has at most 100 access tokens');
      for (const answer of answers) if (!answer.bodyUsed) await answer.body?.cancel();
      // Other users have limits of their own, and a deletion frees a place.
      await makeToken(server, 'bob');
      const [first] = (await listOf('carol', '?limit=1')).items;
      expect((await remove(first?.metadata.name ?? '', 'carol')).status).to.equal(204);
      await makeToken(server, 'carol');
    });
  });

  describe('GET /auth/v1/accesstokens', () => {
    it('K3 lists the tokens of the user that is asked for, and no other', async () => {
      await makeToken(server, 'alice', { description: 'of alice' });
      await makeToken(server, 'bob', { description: 'of bob' });
      const of = (person: Person) => `?user=${recordOf(person)}`;
      const owners = async (as: Person, query: string) => [...new Set((await listOf(as, query)).items.map(({ spec }) => spec.owner))];

      expect(await owners('manager', of('alice'))).to.deep.equal([recordOf('alice')]);
      expect(await owners('manager', of('manager'))).to.deep.equal([]);
      expect(await owners('manager', `${of('alice')}&fieldSelector=spec.owner%3D${recordOf('bob')}`)).to.deep.equal([]);
      expect(await owners('manager', '?user=nobody')).to.deep.equal([]);
      expect(await owners('alice', of('alice'))).to.deep.equal([recordOf('alice')]);
      for (const user of [recordOf('alice'), 'nobody']) {
        const refused = await refusalOf(await server.request(`${tokensPath}?user=${user}`, { as: 'bob' }));
        expect([refused.code, refused.message]).to.deep.equal([
          403,
          'accesstokens.auth.platform.io is forbidden: User "bob" cannot list resource "accesstokens" in API group "auth.platform.io" at the cluster scope',
        ]);
      }
      expect((await server.request(`${tokensPath}?user=`, { as: 'bob' })).status).to.equal(400);
    });

    it('lists the tokens of the caller, without a secret', async () => {
      const { id, token } = await makeToken(server, 'bob', { description: 'seen' });
      const { items, total } = await listOf('bob');

      expect(total).to.equal(items.length);
      expect(new Set(items.map(({ spec }) => spec.owner))).to.deep.equal(new Set([recordOf('bob')]));
      expect(items.map(({ metadata }) => metadata.name)).to.include(id);
      const text = await (await server.request(tokensPath, { as: 'bob' })).text();
      expect(text).not.to.match(/tokenHash|managedFields/);
      expect(text).not.to.include(token.slice(24, 60));
    });

    it('shows tokens of other users only to callers who may list access tokens', async () => {
      const { id } = await makeToken(server, 'alice', { description: 'of alice' });
      expect((await listOf('bob')).items.map(({ metadata }) => metadata.name)).not.to.include(id);
      const foreign = await server.request(`${tokensPath}?fieldSelector=spec.owner%3D${recordOf('alice')}`, { as: 'bob' });
      const { code, message } = await refusalOf(foreign);
      expect([code, message]).to.deep.equal([
        403,
        'accesstokens.auth.platform.io is forbidden: User "bob" cannot list resource "accesstokens" in API group "auth.platform.io" at the cluster scope',
      ]);
      // A user without tokens gets an empty list.
      expect((await listOf('nobody')).total).to.equal(0);
      expect((await server.request(`${tokensPath}?fieldSelector=metadata.name%3D${id}`, { as: 'bob' })).status).to.equal(200);
      expect((await listOf('bob', `?fieldSelector=metadata.name%3D${id}`)).total).to.equal(0);

      const all = await listOf('manager', '?limit=1000');
      expect(all.items.map(({ metadata }) => metadata.name)).to.include(id);
      const selected = await listOf('manager', `?fieldSelector=spec.owner%3D${recordOf('alice')}`);
      expect(new Set(selected.items.map(({ spec }) => spec.owner))).to.deep.equal(new Set([recordOf('alice')]));
    });

    it('filters, sorts and pages the tokens that the caller may see', async () => {
      for (const [description, days] of [
        ['beta', 3],
        ['alpha', 1],
        ['Gamma', 2],
      ] as const)
        await makeToken(server, 'bob', { description: `sorted ${description}`, expiration: now() + days * day });
      const names = async (query: string) =>
        (await listOf('bob', `?filterBy=description,SORTED&${query}`)).items.map(({ spec }) => spec.description);

      expect(await names('sortBy=description')).to.deep.equal(['sorted alpha', 'sorted beta', 'sorted Gamma']);
      expect(await names('sortBy=d,expiration')).to.deep.equal(['sorted beta', 'sorted Gamma', 'sorted alpha']);
      const first = await listOf('bob', '?filterBy=description,sorted&sortBy=description&limit=2');
      expect([first.total, first.items.length, first.metadata.remainingItemCount]).to.deep.equal([3, 2, 1]);
      const rest = await listOf(
        'bob',
        `?filterBy=description,sorted&sortBy=description&limit=2&continue=${encodeURIComponent(first.metadata.continue)}`,
      );
      expect(rest.items.map(({ spec }) => spec.description)).to.deep.equal(['sorted Gamma']);
      // The page of one caller must not be cached for another.
      expect((await listOf('alice', '?filterBy=description,sorted&sortBy=description&limit=2')).total).to.equal(0);
      for (const query of ['sortBy=tokenHash', 'filterBy=tokenHash,a', 'fieldSelector=spec.tokenHash%3Da', 'limit=0'])
        expect((await server.request(`${tokensPath}?${query}`, { as: 'bob' })).status, query).to.equal(400);
    });
  });

  describe('DELETE /auth/v1/accesstokens/{id}', () => {
    it('deletes a token of the caller, and answers 404 the second time', async () => {
      const { id } = await makeToken(server, 'alice');
      const response = await remove(id, 'alice');
      expect([response.status, await response.text()]).to.deep.equal([204, '']);
      expect(await storedToken(server, id)).to.equal(undefined);
      expect((await listOf('alice', '?limit=1000')).items.map(({ metadata }) => metadata.name)).not.to.include(id);
      // The existence of a token is known to its owner only.
      expect((await remove(id, 'alice')).status).to.equal(403);
      expect((await remove(id, 'manager')).status).to.equal(404);
    });

    it('AUZ-12 deletes tokens of others for callers who may delete them, and hides from all others whether any exist', async () => {
      const { id } = await makeToken(server, 'alice');
      const [existing, missing] = await Promise.all(
        [id, 'a'.repeat(16)].map(async (name) => {
          const { code, message } = await refusalOf(await remove(name, 'bob'));
          return [code, message.replaceAll(name, 'ID')];
        }),
      );
      expect(existing).to.deep.equal(missing);
      expect(existing?.[0]).to.equal(403);
      expect(await storedToken(server, id)).not.to.equal(undefined);

      expect((await remove(id, 'manager')).status).to.equal(204);
      expect(await storedToken(server, id)).to.equal(undefined);
    });

    it('deletes nothing else than the preconditions say, and nothing with dryRun=All', async () => {
      const { id } = await makeToken(server, 'alice');
      const object = await storedToken(server, id);
      const { uid = '', resourceVersion = '' } = object?.metadata ?? {};
      for (const preconditions of [{ uid: 'another' }, { resourceVersion: '1' }])
        expect((await remove(id, 'alice', { body: { preconditions } })).status, JSON.stringify(preconditions)).to.equal(409);
      expect((await remove(`${id}?dryRun=All`, 'alice')).status).to.equal(204);
      expect(await storedToken(server, id)).not.to.equal(undefined);
      expect((await remove(id, 'alice', { body: { preconditions: { uid, resourceVersion } } })).status).to.equal(204);
      expect(await storedToken(server, id)).to.equal(undefined);
    });
  });

  it('are told to the audit trail, and the Events of their owner', async () => {
    const { id } = await makeToken(server, 'alice', { description: 'audited' });
    await remove(id, 'manager');
    await remove((await makeToken(server, 'bob')).id, 'alice');

    const events = server.auditLines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ audit }) => String(audit).match(/AccessToken|Denied/));
    const [created, deleted] = events.slice(-4);
    expect(created).to.deep.include({ audit: 'AccessTokenCreated', target: recordOf('alice'), outcome: 'success', code: 201 });
    expect(created).to.have.nested.property('actor.name', 'alice');
    expect(deleted).to.deep.include({ audit: 'AccessTokenDeleted', target: recordOf('alice'), outcome: 'success', code: 204 });
    expect(deleted).to.have.nested.property('actor.name', 'manager');
    expect(events.at(-1)).to.deep.include({ audit: 'AccessDenied', outcome: 'failure', code: 403 });
    await eventually(
      async () => JSON.stringify((await server.kubernetes.call('GET', '/api/v1/namespaces/default/events')).body),
      (text) => text.includes('AccessTokenCreated') && text.includes('AccessTokenDeleted'),
    );
  });
});
