import { expect } from 'chai';
import { z } from 'zod';
import { userSchema } from '../../../src/users/record/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { rawGet } from '../../support/raw-http.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from './a-user.ts';
import { untilSettled } from './settled.ts';

const jane = nameOf('jane@example.com');
const missing = nameOf('missing@example.com');
const native = '/apis/auth.platform.io/v1/users';

describe('a user record', () => {
  const server = forSuite(() => startServer());

  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await server.kubernetes.apply(
      aUser('jane@example.com', { subjectName: 'alice' }),
      aUser('bob@example.com', { subjectName: 'bob' }),
      aUser('new@example.com', { subjectName: '' }),
    );
    await untilSettled(server, ['jane@example.com', 'bob@example.com', 'new@example.com']);
  });

  describe('GET /auth/v1/users/{name}', () => {
    it('shows a user to callers who may get it, with its resource version as ETag for revalidation', async () => {
      for (const as of ['admin', 'viewer'] as const) {
        const response = await server.request(`/auth/v1/users/${jane}`, { as });

        expect(response.status, as).to.equal(200);
        const user = userSchema.parse(await response.json());
        expect(user.spec.email).to.equal('jane@example.com');
        expect(user.metadata).not.to.have.property('managedFields');
        expect(response.headers.get('etag')).to.equal(`"${user.metadata.resourceVersion}"`);
        expect(response.headers.get('cache-control')).to.equal('private, no-cache');
        expect(response.headers.get('vary')).to.equal('Authorization, Cookie');
      }
    });

    it('answers 304 to a current ETag', async () => {
      const first = await server.request(`/auth/v1/users/${jane}`, { as: 'viewer' });
      const etag = first.headers.get('etag') ?? '';

      const current = await server.request(`/auth/v1/users/${jane}`, { as: 'viewer', headers: { 'If-None-Match': etag } });
      const old = await server.request(`/auth/v1/users/${jane}`, { as: 'viewer', headers: { 'If-None-Match': '"1"' } });

      expect([current.status, await current.text()]).to.deep.equal([304, '']);
      expect(old.status).to.equal(200);
    });

    it('shows every user their own record, and no other', async () => {
      expect((await server.request(`/auth/v1/users/${jane}`, { as: 'alice' })).status).to.equal(200);
      expect((await server.request(`/auth/v1/users/${jane}`, { as: 'bob' })).status).to.equal(403);
      expect((await server.request(`/auth/v1/users/${nameOf('new@example.com')}`, { as: 'nobody' })).status).to.equal(403);
    });

    it('AUZ-12 refuses a stranger whether or not there is such a user', async () => {
      const [existing, absent] = await Promise.all(
        [jane, missing].map((name) => server.request(`/auth/v1/users/${name}`, { as: 'nobody' })),
      );

      expect([existing?.status, absent?.status]).to.deep.equal([403, 403]);
      const [one, other] = [await existing?.text(), await absent?.text()];
      expect(one).to.contain(`User \\"nobody\\" cannot get resource \\"users\\"`);
      expect(other).to.equal(one?.replaceAll(jane, missing));
      const headers = (response: Response | undefined) =>
        [...(response?.headers ?? [])].filter(([name]) => !['date', 'x-request-id', 'content-length'].includes(name));
      expect(headers(existing)).to.deep.equal(headers(absent));
    });

    it('answers 404 to callers who may get users', async () => {
      const response = await server.request(`/auth/v1/users/${missing}`, { as: 'viewer' });

      expect(response.status).to.equal(404);
      expect(await response.json()).to.deep.include({
        reason: 'NotFound',
        message: `users.auth.platform.io "${missing}" not found`,
        details: { name: missing, group: 'auth.platform.io', kind: 'users' },
      });
    });

    for (const name of ['Jane', 'a_b', '-a', 'a..b', '%2e%2e', 'a%2Fb', 'x'.repeat(254), '%zz', 'a%00']) {
      it(`answers 404 to ${name.slice(0, 12)}, which no user can be called`, async () => {
        const { status, body } = await rawGet(
          server.port,
          `/auth/v1/users/${name}`,
          'GET',
          `Authorization: Bearer ${await server.token('admin')}\r\n`,
        );

        expect(status, body).to.be.oneOf([404, 400]);
        expect(JSON.parse(body)).to.include({ kind: 'Status', code: status });
      });
    }

    it('refuses a request without a token, and one with a bad token', async () => {
      expect((await server.request(`/auth/v1/users/${jane}`)).status).to.equal(401);
      expect((await server.request(`/auth/v1/users/${jane}`, { token: 'garbage' })).status).to.equal(401);
    });
  });

  describe(`GET ${native}`, () => {
    it('passes query, Accept and answer between caller and API server', async () => {
      const path = `${native}?limit=2&labelSelector=!none&fieldSelector=metadata.name!%3Dx`;
      const through = await server.request(path, { as: 'viewer' });
      const direct = await server.kubernetes.call('GET', path);

      expect(through.status).to.equal(200);
      const list = z.looseObject({
        items: z.array(userSchema),
        metadata: z.looseObject({ continue: z.string(), resourceVersion: z.string() }),
      });
      const [one, other] = [list.parse(await through.json()), list.parse(direct.body)];
      expect(one.items).to.deep.equal(other.items).and.have.length(2);
      const next = await server.request(`${path}&continue=${encodeURIComponent(one.metadata.continue)}`, { as: 'viewer' });
      expect(z.looseObject({ items: z.array(userSchema) }).parse(await next.json()).items).to.have.length(1);
    });

    it('answers with a Table when the caller asks for one', async () => {
      const headers = { Accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
      const table = await server.request(native, { as: 'viewer', headers });

      const columns = z.object({ kind: z.literal('Table'), columnDefinitions: z.array(z.object({ name: z.string() })) });
      const names = columns.parse(await table.json()).columnDefinitions.map(({ name }) => name);
      expect(names).to.include.members(['Username', 'Display Name', 'Phase']);
    });

    it('shows one user', async () => {
      const response = await server.request(`${native}/${jane}`, { as: 'viewer' });

      expect(response.status).to.equal(200);
      expect(userSchema.parse(await response.json()).spec.email).to.equal('jane@example.com');
    });

    it('watches until the caller has enough', async () => {
      const leave = new AbortController();
      const response = await server.request(`${native}?watch=true&fieldSelector=metadata.name%3D${nameOf('carol@example.com')}`, {
        as: 'viewer',
        signal: leave.signal,
      });
      expect(response.status).to.equal(200);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();

      await server.kubernetes.apply(aUser('carol@example.com'));
      let text = '';
      // A line may come in pieces.
      while (!text.includes('\n')) text += (await reader?.read())?.value ?? '\n';

      expect(JSON.parse(text.split('\n')[0] ?? '')).to.deep.include({ type: 'ADDED' });
      leave.abort();
    });

    it('gives the refusals of the API server unchanged', async () => {
      for (const [path, as] of [
        [native, 'nobody'],
        [`${native}/${jane}`, 'nobody'],
        [`${native}/${missing}`, 'viewer'],
        [`${native}?labelSelector=a in (`, 'viewer'],
        [`${native}?continue=nonsense`, 'viewer'],
      ] as const) {
        const response = await server.request(path, { as });
        const status = z.looseObject({ kind: z.literal('Status'), code: z.number() }).parse(await response.json());
        expect(response.status, path).to.equal(status.code).and.be.within(400, 410);
      }
    });

    it('refuses a request without a token, and one with a bad token', async () => {
      for (const path of [native, `${native}/${jane}`]) {
        expect((await server.request(path)).status, path).to.equal(401);
        const garbage = await server.request(path, { token: 'garbage' });
        expect(garbage.status, path).to.equal(401);
        expect(await garbage.json()).to.deep.include({ kind: 'Status', reason: 'Unauthorized' });
      }
    });

    it('has no paths for names that no user can have', async () => {
      expect((await server.request(`${native}/a_b`, { as: 'viewer' })).status).to.equal(404);
      expect((await server.request(`${native}/${jane}/status`, { as: 'viewer' })).status).to.equal(404);
    });
  });
});

describe('users while the API server is out of reach', () => {
  const server = forSuite(() => startServer());

  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await eventually(
      () => server.request('/auth/v2/users', { as: 'viewer' }),
      ({ status }) => status === 200,
    );
  });

  it('are not served, and are again when it is back', async () => {
    const paths = ['/auth/v2/users', '/auth/v1/users', `/auth/v1/users/${jane}`, native, `${native}/${jane}`];
    await server.relay.cut();
    for (const path of paths) {
      const response = await eventually(
        () => server.request(path, { as: 'viewer' }),
        ({ status }) => status === 503,
      );
      expect(response.headers.get('retry-after'), path).to.match(/^[1-9]/);
      expect(await response.json(), path).to.deep.include({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
    }

    await server.relay.mend();

    for (const path of ['/auth/v2/users', native]) {
      await eventually(
        () => server.request(path, { as: 'viewer' }),
        ({ status }) => status === 200,
      );
    }
  });
});

describe('users in a cluster without the resource', () => {
  const server = forSuite(() => startServer());
  const definition = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/users.auth.platform.io';

  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await server.kubernetes.apply(aUser('jane@example.com'));
  });

  it('are 503 below /auth and 404 below /apis, and come back with it', async () => {
    const { body } = await server.kubernetes.call('GET', definition);
    await server.kubernetes.remove(definition);
    const gone = await eventually(
      () => server.request('/auth/v2/users', { as: 'viewer' }),
      ({ status }) => status === 503,
    );
    expect(await gone.json()).to.deep.include({ kind: 'Status', reason: 'ServiceUnavailable' });
    expect((await server.request(`/auth/v1/users/${jane}`, { as: 'viewer' })).status).to.equal(503);
    expect((await server.request(native, { as: 'viewer' })).status).to.equal(404);
    for (const query of ['', '?dryRun=All']) {
      const spec = { email: 'new@example.com', password: 'correct horse battery staple' };
      const made = await server.request(`/auth/v1/users${query}`, { as: 'admin', method: 'POST', body: { spec } });
      expect(made.status, query).to.equal(503);
      expect(await made.json()).to.deep.include({ kind: 'Status', reason: 'ServiceUnavailable' });
    }

    const { spec } = z.object({ spec: z.record(z.string(), z.unknown()) }).parse(body);
    await server.kubernetes.apply({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'users.auth.platform.io' },
      spec,
    });
    await server.kubernetes.apply(aUser('back@example.com'));
    const back = await eventually(
      async () => (await server.request('/auth/v2/users', { as: 'viewer' })).text(),
      (text) => text.includes('back@example.com'),
    );
    expect(back).not.to.contain('jane@example.com');
  });
});
