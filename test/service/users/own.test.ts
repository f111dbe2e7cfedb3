import { createPublicKey } from 'node:crypto';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from './a-user.ts';
import { untilSettled } from './settled.ts';

describe('calls about the own user', () => {
  const server = forSuite(() => startServer({ objects: [aUser('alice@example.com', { subjectName: 'alice', groups: ['dev'] })] }));
  before(() => untilSettled(server, ['alice@example.com']));

  describe('GET /auth/v1/me', () => {
    it('shows the caller’s record, without a right to users', async () => {
      const response = await server.request('/auth/v1/me', { as: 'alice' });
      const text = await response.text();

      expect(response.status, text).to.equal(200);
      const user = JSON.parse(text);
      expect(user).to.include({ apiVersion: 'auth.platform.io/v1', kind: 'User' });
      expect(user.metadata).to.include({ name: nameOf('alice@example.com') });
      expect(user.status).to.deep.include({ subjectName: 'alice', groups: ['dev'] });
      expect(text).not.to.match(/managedFields|password"|hash|argon2/);
      expect(response.headers.get('etag')).to.equal(`"${user.metadata.resourceVersion}"`);
      expect(response.headers.get('cache-control')).to.equal('private, no-cache');
      expect(response.headers.get('vary')).to.match(/authorization/i);
      const headers = { 'If-None-Match': `"${user.metadata.resourceVersion}"` };
      expect((await server.request('/auth/v1/me', { as: 'alice', headers })).status).to.equal(304);
    });

    it('answers 404 to callers without a record, and 401 without a token', async () => {
      const none = await server.request('/auth/v1/me', { as: 'bob' });
      expect(none.status).to.equal(404);
      const refusal = (await none.json()) as { message: string };
      expect(refusal).to.include({ kind: 'Status', reason: 'NotFound', code: 404 });
      expect(refusal.message).to.match(/^users\.auth\.platform\.io ".*bob.*" not found$/);
      expect((await server.request('/auth/v1/me')).status).to.equal(401);
    });
  });

  describe('GET /auth/v1/pubkey', () => {
    it('gives every caller the key, and until when it is taken', async () => {
      const response = await server.request('/auth/v1/pubkey');
      const { ts, pubkey, pubkey_encode, ...rest } = (await response.json()) as Record<string, string>;

      expect([response.status, response.headers.get('cache-control')]).to.deep.equal([200, 'no-store']);
      expect(rest).to.deep.equal({ algorithms: ['RSA-OAEP-256'] });
      expect(Number(ts) - Date.now() / 1000).to.be.within(200, 301);
      expect(createPublicKey(pubkey ?? '').asymmetricKeyDetails).to.include({ modulusLength: 2048 });
      expect(Buffer.from(pubkey_encode ?? '', 'base64').toString()).to.equal(pubkey);
    });

    it('gives the same key on every replica', async () => {
      const replica = await server.replica();
      const keys = await Promise.all(
        [server.url, replica.url].map(
          async (at) => ((await (await server.request('/auth/v1/pubkey', { at })).json()) as { pubkey: string }).pubkey,
        ),
      );
      expect(keys[0]).to.equal(keys[1]);
      await replica.stop();
    });
  });
});

describe('features.me and features.pubkey, when they are off', () => {
  it('are paths that nothing answers', async () => {
    const server = await startServer({ config: { features: { me: false, pubkey: false } } });
    try {
      for (const path of ['/auth/v1/me', '/auth/v1/pubkey']) {
        const response = await server.request(path, { as: 'admin' });
        expect([response.status, ((await response.json()) as { reason: string }).reason], path).to.deep.equal([404, 'NotFound']);
      }
    } finally {
      await server.stop();
    }
  });
});

describe('users who must change their password first', () => {
  const person = { email: 'due@example.com', password: 'given by somebody' };
  const service = forSuite(() => startEmbeddedLogin({ emails: [person.email], password: person.password, credentials: 'impersonate' }));

  it('see their own record, and nothing else', async () => {
    const { body } = await service.logIn(person.email, person.password, '?token_storage=local');
    const { access_token } = JSON.parse(body).ext.token;
    const get = (path: string) => service.request(path, { headers: { authorization: `Bearer ${access_token}` } });
    expect((await get('/auth/v1/me')).status).to.equal(200);
    const type = { 'content-type': 'application/merge-patch+json' };
    const path = `/apis/auth.platform.io/v1/users/${nameOf(person.email)}/status`;
    await service.admin.call('PATCH', path, { status: { mustChangePassword: true } }, type);
    const refused = await eventually(
      async () => {
        const response = await get('/auth/v2/users');
        return { status: response.status, text: await response.text() };
      },
      ({ text }) => text.includes('PasswordChangeRequired'),
    );
    expect(refused.status).to.equal(403);
    expect((await get('/auth/v1/me')).status).to.equal(200);
  });
});
