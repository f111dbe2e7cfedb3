import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { aPerson, deleteStored, makeToken, patchUser, recordOf, refusalOf, startTokenServer } from './tokens.ts';

const path = '/auth/v1/tokenreviews';
const v1 = 'authentication.k8s.io/v1';
const review = z.strictObject({
  apiVersion: z.string(),
  kind: z.literal('TokenReview'),
  metadata: z.strictObject({}),
  spec: z.strictObject({}),
  status: z.strictObject({
    authenticated: z.boolean(),
    user: z
      .strictObject({
        username: z.string(),
        uid: z.string(),
        groups: z.array(z.string()),
        extra: z.record(z.string(), z.array(z.string())),
      })
      .optional(),
    error: z.string().optional(),
  }),
});

describe('POST /auth/v1/tokenreviews', () => {
  const server = forSuite(() => startTokenServer({ objects: [aPerson('alice', { groups: ['dev', 'system:masters'] }), aPerson('bob')] }));

  before(async () => {
    // Permission of the credential of the API server's webhook.
    await grant(server.kubernetes, 'viewer', 'atrium-token-reviews');
  });

  const post = (
    token: unknown,
    { as = 'viewer' as Person, apiVersion = v1, ...spec }: { as?: Person; apiVersion?: string; audiences?: string[] } = {},
  ) =>
    server.request(path, {
      method: 'POST',
      as,
      body: { apiVersion, kind: 'TokenReview', metadata: { creationTimestamp: null }, spec: { token, ...spec } },
    });
  const reviewed = async (...given: Parameters<typeof post>) => {
    const response = await post(...given);
    const text = await response.text();
    expect(response.status, text).to.equal(201);
    return review.parse(JSON.parse(text));
  };

  it('returns the owner of an access token, with the current groups', async () => {
    const { id, token } = await makeToken(server, 'alice');
    const { apiVersion, status } = await reviewed(token);
    const { body } = await server.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${recordOf('alice')}`);
    const { uid } = z.object({ metadata: z.object({ uid: z.string() }) }).parse(body).metadata;

    expect(apiVersion).to.equal(v1);
    expect(status).to.deep.equal({
      authenticated: true,
      user: { username: 'alice', uid, groups: ['dev'], extra: { 'auth.platform.io/access-token': [id] } },
    });
    await patchUser(server, 'alice', { status: { groups: ['dev', 'oncall'] } });
    await eventually(
      () => reviewed(token),
      (found) => found.status.user?.groups.join() === 'dev,oncall',
    );
    await patchUser(server, 'alice', { status: { groups: ['dev'] } });
  });

  it('answers in the version asked in, and repeats no token', async () => {
    const { token } = await makeToken(server, 'alice');
    const response = await post(token, { apiVersion: 'authentication.k8s.io/v1beta1' });
    const text = await response.text();
    expect(JSON.parse(text)).to.include({ apiVersion: 'authentication.k8s.io/v1beta1', kind: 'TokenReview' });
    expect(text).not.to.include(token.slice(0, 40));
    expect(response.headers.get('cache-control')).to.equal('no-store');
    expect((await post(token, { apiVersion: 'authentication.k8s.io/v2' })).status).to.equal(400);
  });

  it('refuses a token with a scope, which the API server would not know', async () => {
    const { token } = await makeToken(server, 'alice', { description: 'scoped', scope: { namespaces: ['shop'] } });
    expect((await reviewed(token)).status).to.deep.equal({
      authenticated: false,
      error: 'the token has a scope, which the API server does not know: send the request to Atrium, below /api/kubernetes',
    });
  });

  it('names no audience: the token is for the API server, whatever else the review asks for', async () => {
    const { token } = await makeToken(server, 'alice');
    for (const audiences of [['https://kubernetes.default.svc'], ['vault'], []]) {
      const { status } = await reviewed(token, { audiences });
      expect(Object.keys(status)).to.deep.equal(['authenticated', 'user']);
    }
  });

  it('does not authenticate a token of another kind, without an error', async () => {
    const { token } = await makeToken(server, 'alice');
    const wrong = [
      await server.token('alice'),
      'x',
      'cat_',
      `${token}x`,
      token.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      'ünïcode \n',
    ];
    for (const text of wrong) expect((await reviewed(text)).status, text).to.deep.equal({ authenticated: false });
    for (const text of ['', 7, null, undefined]) expect((await post(text)).status, String(text)).to.equal(400);
  });

  it('says why an access token is not valid', async () => {
    const { id, token } = await makeToken(server, 'bob');
    const until = (error: string | undefined) =>
      eventually(
        () => reviewed(token),
        ({ status }) => !status.authenticated && status.error === error && status.user === undefined,
      );
    await patchUser(server, 'bob', { spec: { is_disabled: true } });
    await until('the account is disabled');
    await patchUser(server, 'bob', { spec: { is_disabled: false } });
    await patchUser(server, 'bob', { status: { mustChangePassword: true } });
    await until('the password of the account must be changed first');
    await patchUser(server, 'bob', { status: { mustChangePassword: false } });
    await eventually(
      () => reviewed(token),
      ({ status }) => status.authenticated,
    );
    await deleteStored(server, id);
    await until(undefined);
  });

  it('AUZ-08 answers only callers who may create tokenreviews', async () => {
    const { token } = await makeToken(server, 'alice');
    const refused = await post(token, { as: 'bob' });
    const { code, message } = await refusalOf(refused);
    expect([code, message]).to.deep.equal([
      403,
      'tokenreviews.authentication.k8s.io is forbidden: User "bob" cannot create resource "tokenreviews" in API group "authentication.k8s.io" at the cluster scope',
    ]);
    expect(server.auditLines.some((line) => line.includes('"AccessDenied"') && line.includes('"bob"'))).to.equal(true);
    const body = { apiVersion: v1, kind: 'TokenReview', spec: { token } };
    expect((await server.request(path, { method: 'POST', body })).status).to.equal(401);
    expect((await server.request(path, { method: 'POST', body, token: 'nonsense' })).status).to.equal(401);
    // A token may be used to review itself or others if its owner may create reviews; this owner may not.
    expect((await server.request(path, { method: 'POST', body, token })).status).to.equal(401);
  });

  it('does not go in circles when the API server asks about the very credential that it asks with', async () => {
    const credential = await server.token('viewer');
    const before = server.logLines.length;
    const body = { apiVersion: v1, kind: 'TokenReview', spec: { token: 'nonsense' } };
    const response = await server.request(path, { method: 'POST', body, token: 'nonsense' });
    expect(response.status).to.equal(401);
    expect(
      (await server.request(path, { method: 'POST', body: { ...body, spec: { token: credential } }, token: credential })).status,
    ).to.equal(401);
    const calls = server.logLines.slice(before).filter((line) => line.includes('CreateTokenReview'));
    expect(calls).to.have.lengthOf(2);
  });
});
