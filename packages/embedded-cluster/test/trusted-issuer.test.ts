import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { expect } from 'chai';
import { generateKeyPair, SignJWT } from 'jose';
import { z } from 'zod';
import { clusterRoleBinding } from '../../../test/support/grants.ts';
import { AnIssuer } from './an-issuer.ts';
import { type Api, apiOf } from './api.ts';

const discovered = ['/realm/.well-known/openid-configuration', '/realm/keys'];
const selfReview = z.object({
  status: z.object({ userInfo: z.object({ username: z.string(), uid: z.string().optional(), groups: z.array(z.string()) }) }),
});

describe('an OpenID provider that the embedded cluster trusts', () => {
  let issuer: AnIssuer;
  let cluster: Cluster;
  /** A clock that only the test moves, so that no cached answer expires by itself. */
  let now: Date;
  const apis: Api[] = [];

  const send = async (token: string, method: string, path: string, body?: unknown) => {
    const api = apiOf(cluster, token);
    apis.push(api);
    return api.send(method, path, body);
  };
  const review = (token: string) => send(token, 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {});
  const who = async (token: string) => {
    const { status, body } = await review(token);
    return status === 201 ? selfReview.parse(body).status.userInfo : status;
  };
  const groups = async (token: string) => {
    const user = await who(token);
    return typeof user === 'number' ? user : user.groups;
  };

  beforeEach(async () => {
    now = new Date();
    issuer = await new AnIssuer().start();
    cluster = await Cluster.start({ now: () => now, issuers: [{ url: issuer.url, audiences: ['atrium', 'kubectl'] }] });
  });
  afterEach(async () => {
    for (const api of apis.splice(0)) await api.close();
    await cluster.stop();
    await issuer.stop();
  });

  it('names users: email, groups and sub become name, groups and uid', async () => {
    expect(await who(await issuer.token({ email_verified: true, groups: ['dev', 'oncall'] }))).to.deep.equal({
      username: 'jane@example.com',
      uid: 's-1',
      groups: ['dev', 'oncall', 'system:authenticated'],
    });
  });

  it('gives them the rights that roles of the cluster bind to that name', async () => {
    const path = '/api/v1/namespaces/default';
    expect((await send(await issuer.token(), 'GET', path)).status).to.equal(403);
    await cluster.apply(clusterRoleBinding('jane', 'view', { kind: 'User', name: 'jane@example.com' }));

    expect((await send(await issuer.token(), 'GET', path)).status).to.equal(200);
    expect((await send(await issuer.token({ email: 'bob@example.com' }), 'GET', path)).status).to.equal(403);
  });

  it('leaves the tokens of the cluster itself as they were', async () => {
    expect(await who(await cluster.issueToken({ username: 'ada', uid: 'u', groups: ['x'] }))).to.deep.equal({
      username: 'ada',
      uid: 'u',
      groups: ['x', 'system:authenticated'],
    });
  });

  it('takes groups as a list, as one text, or not at all', async () => {
    expect(await groups(await issuer.token({ groups: 'dev' }))).to.deep.equal(['dev', 'system:authenticated']);
    expect(await groups(await issuer.token({ groups: null }))).to.deep.equal(['system:authenticated']);
    expect(await groups(await issuer.token())).to.deep.equal(['system:authenticated']);
    for (const wrong of [[1], { a: 'b' }, 7, [['dev']]]) expect(await groups(await issuer.token({ groups: wrong }))).to.equal(401);
  });

  it('takes one of its audiences, alone or among others', async () => {
    for (const aud of ['kubectl', ['other', 'atrium']]) expect(await who(await issuer.token({ aud })), `${aud}`).to.be.an('object');
    for (const aud of ['other', [], undefined, 7]) expect(await who(await issuer.token({ aud })), `${aud}`).to.equal(401);
  });

  const seconds = () => Math.floor(now.getTime() / 1000);
  const refused: [string, () => Record<string, unknown>][] = [
    ['an address that is not verified', () => ({ email_verified: false })],
    ['a verification that is no truth value', () => ({ email_verified: 'true' })],
    ['no name', () => ({ email: undefined })],
    ['an empty name', () => ({ email: '' })],
    ['a name that is no text', () => ({ email: ['jane@example.com'] })],
    ['a user of Kubernetes itself', () => ({ email: 'system:admin' })],
    ['a group of Kubernetes itself', () => ({ groups: ['dev', 'system:masters'] })],
    ['no end', () => ({ exp: undefined })],
    ['its end behind it', () => ({ exp: seconds() - 1 })],
    ['its begin ahead of it', () => ({ nbf: seconds() + 600 })],
  ];
  for (const [what, claims] of refused) {
    it(`is refused for a token with ${what}`, async () => {
      expect(await who(await issuer.token())).to.be.an('object');
      expect(await who(await issuer.token(claims()))).to.equal(401);
    });
  }

  it('is not imitated: another key, another algorithm, another spelling of its name', async () => {
    const { privateKey } = await generateKeyPair('RS256');
    const [header = '', payload = '', signature = ''] = (await issuer.token()).split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const publicKey = JSON.stringify(issuer.keys[0]);
    const unsigned = Buffer.from(JSON.stringify({ alg: 'none', kid: 'key-1' })).toString('base64url');

    for (const forged of [
      await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'key-1' }).sign(privateKey),
      await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'key-1' }).sign(new TextEncoder().encode(publicKey)),
      `${unsigned}.${payload}.`,
      `${header}.${payload}.`,
      `${header}.${Buffer.from(JSON.stringify({ ...claims, email: 'admin@example.com' })).toString('base64url')}.${signature}`,
      await issuer.token({ iss: `${issuer.url}/` }),
      await issuer.token({ iss: issuer.url.toUpperCase() }),
      await issuer.token({ iss: 'https://kubernetes.default.svc' }),
    ]) {
      expect(await who(forged)).to.equal(401);
    }
    expect(new Set(issuer.requests)).to.deep.equal(new Set(discovered));
  });

  it('is asked for its keys again for one that is not known, but not for every name that a client makes up', async () => {
    await who(await issuer.token());
    for (let number = 0; number < 20; number += 1) expect(await who(await issuer.token({}, { kid: `made-up-${number}` }))).to.equal(401);

    expect(issuer.requests).to.deep.equal([...discovered, '/realm/keys']);
  });

  it('may rotate its keys, also to another kind', async () => {
    const old = await issuer.token();
    expect(await who(old)).to.be.an('object');
    await issuer.rotate('ES256');

    expect(await who(await issuer.token())).to.be.an('object');
    expect(await who(old)).to.be.an('object');
    await issuer.rotate();
    expect(await who(await issuer.token())).to.equal(401);
    now = new Date(now.getTime() + 11_000);
    expect(await who(await issuer.token())).to.be.an('object');
  });

  it('may withdraw a key: its tokens are soon no longer valid', async () => {
    const old = await issuer.token();
    expect(await who(old)).to.be.an('object');
    await issuer.rotate();
    issuer.keys = issuer.keys.slice(1);
    expect(await who(await issuer.token())).to.be.an('object');
    now = new Date(now.getTime() + 11_000);

    expect(await who(old)).to.equal(401);
  });

  it('may start later than the cluster', async () => {
    const token = await issuer.token();
    await issuer.stop();
    expect(await who(token)).to.equal(401);
    await issuer.start();

    expect(await who(token)).to.be.an('object');
  });

  it('is not believed under another name than its own', async () => {
    issuer.claimedIssuer = 'https://other.example.com';
    expect(await who(await issuer.token())).to.equal(401);
  });

  it('expires with its token, also right after a successful check', async () => {
    const exp = seconds() + 5;
    const [token, own] = [await issuer.token({ exp }), await cluster.issueToken({ username: 'ada' }, 5)];
    expect([await who(token), await who(own)].map((user) => typeof user)).to.deep.equal(['object', 'object']);
    now = new Date(now.getTime() + 6_000);

    expect([await who(token), await who(own)]).to.deep.equal([401, 401]);
  });

  it('is reported by a TokenReview, for the audience of the API server', async () => {
    const admin = await cluster.issueToken({ username: 'admin', groups: ['system:masters'] });
    const token = await issuer.token({ groups: ['dev'] });
    const tokenReview = async (spec: object) => {
      const { body } = await send(admin, 'POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec });
      return z.object({ status: z.unknown() }).parse(body).status;
    };
    const user = { username: 'jane@example.com', uid: 's-1', groups: ['dev', 'system:authenticated'] };
    const audiences = ['https://kubernetes.default.svc'];

    expect(await tokenReview({ token })).to.deep.equal({ authenticated: true, user, audiences });
    expect(await tokenReview({ token, audiences: ['x', ...audiences] })).to.deep.equal({ authenticated: true, user, audiences });
    for (const spec of [{ token, audiences: ['atrium'] }, { token: await issuer.token({ aud: 'other' }) }]) {
      expect(await tokenReview(spec)).to.deep.equal({ user: {}, error: 'invalid bearer token' });
    }
  });

  it('may be trusted while the cluster runs, with another claim, prefixes and groups', async () => {
    const second = await new AnIssuer().start();
    const token = await second.token({ login: 'jane', roles: ['dev'], groups: ['ignored'] });
    expect(await who(token)).to.equal(401);

    const trust = { url: second.url, audiences: ['atrium'], usernameClaim: 'login', groupsClaim: 'roles' } as const;
    cluster.trustIssuer(trust);
    expect(await who(token)).to.deep.include({ username: `${second.url}#jane`, groups: ['dev', 'system:authenticated'] });
    cluster.trustIssuer({ ...trust, usernamePrefix: '-', groupsPrefix: 'oidc:' });
    expect(await who(token)).to.deep.include({ username: 'jane', groups: ['oidc:dev', 'system:authenticated'] });
    cluster.trustIssuer({ ...trust, usernamePrefix: 'oidc:' });
    expect(await who(token)).to.deep.include({ username: 'oidc:jane' });
    cluster.trustIssuer({ ...trust, usernamePrefix: 'sys', usernameClaim: 'odd' });
    expect(await who(await second.token({ odd: 'tem:admin' }))).to.equal(401);
    expect(() => cluster.trustIssuer({ ...trust, url: 'https://kubernetes.default.svc' })).to.throw(TypeError);
    await second.stop();
  });
});

describe('a token that the embedded cluster has seen before', () => {
  it('ends with its service account', async () => {
    const cluster = await Cluster.start({});
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'default' } };
    await cluster.apply(account);
    const admin = apiOf(cluster, await cluster.issueToken({ username: 'admin', groups: ['system:masters'] }));
    const path = '/api/v1/namespaces/default/serviceaccounts/robot';
    const { body } = await admin.send('POST', `${path}/token`, { spec: {} });
    const robot = apiOf(cluster, z.object({ status: z.object({ token: z.string() }) }).parse(body).status.token);
    const review = async () => (await robot.send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {})).status;

    expect([await review(), await review()]).to.deep.equal([201, 201]);
    await admin.send('DELETE', path);
    expect(await review()).to.equal(401);

    await Promise.all([admin.close(), robot.close()]);
    await cluster.stop();
  });
});
