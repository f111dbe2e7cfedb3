import { expect } from 'chai';
import { describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { TestProvider } from '../login/provider/provider.ts';
import type { TokenChange } from '../login/provider/tokens.ts';
import { makePath, mergePatch, refusalOf, storedToken, tokensPath, usersPath, whoIs } from '../tokens/tokens.ts';
import { nameOf } from '../users/a-user.ts';
import {
  accessToken,
  aMachine,
  audience,
  branch,
  exchange,
  type Fields,
  idToken,
  send,
  startExchange,
  workloadToken,
  written,
} from './workloads.ts';

const down = 'http://127.0.0.1:1';
const user = (name: string) => `/apis/auth.platform.io/v1/users/${nameOf(name)}`;

describe('the exchange of a workload token', () => {
  const provider = forSuite(() => TestProvider.start({ clientID: audience }));
  const ci = () => provider.issuer;
  const trusts = (claims: Record<string, string>, more: object = {}) => [{ issuer: ci(), audience, claims, ...more }];
  const server = forSuite(() =>
    startExchange(
      provider,
      [
        aMachine('shop', trusts({ sub: branch })),
        aMachine('releases', trusts({ sub: 'repo:acme/*:ref:refs/heads/release' })),
        aMachine('once', trusts({ sub: 'once' }, { once: true })),
        aMachine('twin-1', trusts({ sub: 'twin' })),
        aMachine('twin-2', trusts({ sub: 'twin' })),
        aMachine('team', trusts({ team: 'payments' })),
        aMachine('off', trusts({ sub: branch }), { is_disabled: true }),
        aMachine('over', trusts({ sub: branch }), { expired: { end: '2020-01-01T00:00:00Z' } }),
        aMachine('away', [{ issuer: down, audience, claims: { sub: branch } }]),
      ],
      {
        config: {
          tokenExchange: {
            issuers: [
              { id: 'ci', issuer: ci(), audience },
              { id: 'down', issuer: down, audience },
            ],
          },
        },
      },
    ),
  );
  const token = (...changes: TokenChange[]) => workloadToken(provider, ...changes);

  it('gives an access token of the machine user, which caches do not keep, and which ends with the token', async () => {
    const { status, headers, body } = await exchange(server, token(), { client_id: 'shop' });

    expect(status, JSON.stringify(body)).to.equal(200);
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(body).to.deep.include({ issued_token_type: accessToken, token_type: 'Bearer' });
    expect(body.expires_in).to.be.within(1, 900);
    const { access_token: made = '' } = body;
    expect(await whoIs(server, made)).to.deep.equal({ name: 'machine:shop', groups: [] });
    const stored = await storedToken(server, made.split('_')[1] ?? '');
    expect(stored).to.have.nested.property('metadata.name');
  });

  it('finds the machine user by the name of its record, and without a name where one alone trusts the token', async () => {
    for (const [sub, fields] of [
      [branch, { client_id: nameOf('shop') }],
      ['repo:acme/docs:ref:refs/heads/release', {}],
      [branch, { client_id: 'shop', audience, resource: `${audience}/`, actor_token: '', requested_token_type: accessToken }],
    ] as [string, Fields][]) {
      const { status, body } = await exchange(server, token({ claims: { sub } }), fields);
      expect(status, JSON.stringify(body)).to.equal(200);
    }
  });

  it('shows the workload at the token, and in the audit', async () => {
    const { body } = await exchange(server, token(), { client_id: 'shop' });
    const id = body.access_token?.split('_')[1] ?? '';
    const { body: object } = await server.kubernetes.call('GET', `/apis/auth.platform.io/v1/accesstokens/${id}`);
    expect((object as { spec: object }).spec).to.deep.include({ exchange: { issuer: ci(), subject: branch }, owner: nameOf('shop') });
    const events = server.auditLines.map((line): Record<string, unknown> => JSON.parse(line));
    expect(events.find((event) => event.audit === 'TokenExchanged')).to.deep.include({
      actor: {
        name: 'machine:shop',
        uid: (object as { metadata: { ownerReferences: { uid: string }[] } }).metadata.ownerReferences[0]?.uid,
      },
      target: nameOf('shop'),
      issuer: 'ci',
      workload: branch,
    });
    expect(server.auditLines.join('')).not.to.include(body.access_token).and.not.to.include('eyJ');
  });

  it('gives a pipeline a hundred tokens at once, all of which are valid', async () => {
    const made = await Promise.all(Array.from({ length: 100 }, () => exchange(server, token(), { client_id: 'shop' })));
    expect(new Set(made.map(({ status }) => status))).to.deep.equal(new Set([200]));
    const [first, last] = [made[0], made[99]];
    for (const { body } of [first, last].flatMap((one) => one ?? []))
      expect(await whoIs(server, body.access_token ?? '')).to.be.an('object');
  });

  const now = () => Math.floor(Date.now() / 1000);
  const main = { client_id: 'shop' };
  const attacks: [what: string, token: () => string | undefined, fields: Fields, error?: string][] = [
    ['of another audience', () => token({ claims: { aud: 'https://other.example.com' } }), main],
    ['of a further audience', () => token({ claims: { aud: [audience, 'https://other.example.com'] } }), main],
    ['without an audience', () => token({ claims: { aud: undefined } }), main],
    ['of an empty list of audiences', () => token({ claims: { aud: [] } }), main],
    ['of an issuer with a slash', () => token({ claims: { iss: `${ci()}/` } }), main],
    ['of another issuer', () => token({ claims: { iss: 'https://ci.example.com' } }), main],
    ['of another subject', () => token({ claims: { sub: 'repo:acme/shop:ref:refs/heads/other' } }), main],
    ['of a longer subject', () => token({ claims: { sub: `${branch}/x` } }), main],
    ['of another case', () => token({ claims: { sub: branch.toUpperCase() } }), main],
    ['whose claim is a list', () => token({ claims: { team: ['payments'] } }), { client_id: 'team' }],
    ['whose claim is an object', () => token({ claims: { team: { payments: 'payments' } } }), { client_id: 'team' }],
    ['whose claim is missing', () => token(), { client_id: 'team' }],
    ['whose wildcard would span a slash', () => token({ claims: { sub: 'repo:acme/a/b:ref:refs/heads/release' } }), {}],
    ['whose wildcard would span a colon', () => token({ claims: { sub: 'repo:acme/a:b:ref:refs/heads/release' } }), {}],
    ['whose wildcard would be empty', () => token({ claims: { sub: 'repo:acme/:ref:refs/heads/release' } }), {}],
    ['that two machine users trust', () => token({ claims: { sub: 'twin' } }), {}],
    ['for a user who does not exist', () => token(), { client_id: 'nobody' }],
    ['for a disabled user', () => token(), { client_id: 'off' }],
    ['for an expired user', () => token(), { client_id: 'over' }],
    ['without a jti where it counts once', () => token({ claims: { sub: 'once' } }), { client_id: 'once' }],
    ['of no signature', () => token({ signer: 'nobody' }), main],
    ['signed with the public key', () => token({ signer: 'public key' }), main],
    ['signed with another key', () => token({ signer: 'unpublished RS256' }), main],
    ['of a key that is not known', () => token({ header: { kid: 'made-up' }, signer: 'unpublished ES256' }), main],
    ['with a critical header', () => token({ header: { crit: ['b64'], b64: false } }), main],
    ['of the type of access tokens', () => token({ header: { typ: 'at+jwt' } }), main],
    ['of the type of logout tokens', () => token({ header: { typ: 'logout+jwt' } }), main],
    ['with the claims of an access token', () => token({ claims: { client_id: 'shop', scope: 'all' } }), main],
    ['with the claim typ of an access token', () => token({ claims: { typ: 'Bearer' } }), main],
    ['that is a logout token', () => provider.logoutToken(), main],
    ['that has expired', () => token({ claims: { iat: now() - 7200, exp: now() - 3600 } }), main],
    ['that expires at this moment', () => token({ claims: { iat: now() - 7200, exp: now() - 1 } }), main],
    ['without an expiry', () => token({ claims: { exp: undefined } }), main],
    ['whose expiry is a text', () => token({ claims: { exp: String(now() + 900) } }), main],
    ['that is not valid yet', () => token({ claims: { nbf: now() + 3600 } }), main],
    ['that was issued in the future', () => token({ claims: { iat: now() + 3600, exp: now() + 7200 } }), main],
    ['of three dots', () => '...', main],
    ['of nothing', () => undefined, main],
    ['of the type of refresh tokens', () => token(), { ...main, subject_token_type: accessToken.replace('access', 'refresh') }],
    ['announced as an access token', () => token(), { ...main, subject_token_type: accessToken }],
    ['without a type', () => token(), { ...main, subject_token_type: undefined }],
    ['with an actor', () => token(), { ...main, actor_token: 'x', actor_token_type: idToken }],
    ['for a refresh token', () => token(), { ...main, requested_token_type: accessToken.replace('access', 'refresh') }],
    ['for another target', () => token(), { ...main, audience: 'https://other.example.com' }, 'invalid_target'],
    ['for another resource', () => token(), { ...main, resource: `${audience}/other` }, 'invalid_target'],
    ['with a scope that is not known', () => token(), { ...main, scope: 'read admin' }, 'invalid_scope'],
    ['with a scope of everything', () => token(), { ...main, scope: '*' }, 'invalid_scope'],
    ['with a scope of no namespace', () => token(), { ...main, scope: 'namespace:' }, 'invalid_scope'],
    ['with another grant', () => token(), { ...main, grant_type: 'client_credentials' }, 'unsupported_grant_type'],
    ['with no grant', () => token(), { ...main, grant_type: undefined }],
  ];
  for (const [what, made, fields, error = 'invalid_request'] of attacks)
    it(`refuses a token ${what}, and writes nothing`, async () => {
      const before = await written(server);
      const { status, body } = await exchange(server, made(), fields);
      expect([status, body.error], JSON.stringify(body)).to.deep.equal([400, error]);
      expect(body).to.deep.include({ kind: 'Status', code: 400, reason: 'BadRequest' });
      expect(body.error_description).to.be.a('string').and.not.include('eyJ');
      expect(await written(server)).to.deep.equal(before);
    });

  it('answers 503 while the issuer cannot be reached', async () => {
    const { status, body } = await exchange(server, token({ claims: { iss: down } }), { client_id: 'away' });
    expect([status, body.error]).to.deep.equal([503, 'temporarily_unavailable']);
  });

  it('refuses a parameter that is given twice, parameters in the address, another media type, and a megabyte', async () => {
    const before = await written(server);
    const form = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token(),
      subject_token_type: idToken,
      ...main,
    }).toString();
    for (const more of ['client_id=off', 'client_id=', 'other=1&other=2'])
      expect((await send(server, `${form}&${more}`)).body, more).to.include({ code: 400, error: 'invalid_request' });
    expect((await send(server, `${form}&subject_token=${token()}`)).body).to.include({ code: 400, error: 'invalid_request' });
    expect((await send(server, '', `?${form}`)).body).to.include({ code: 400, error: 'invalid_request' });
    expect((await send(server, form, '?client_id=shop')).body).to.include({ code: 400, error: 'invalid_request' });
    for (const size of [40_000, 2 ** 20])
      expect((await exchange(server, 'a'.repeat(size), main)).body).to.include({ code: 413, error: 'invalid_request' });
    const json = await server.request('/oauth2/token', { method: 'POST', body: {} });
    expect([json.status, ((await json.json()) as { error: string }).error]).to.deep.equal([415, 'invalid_request']);
    expect((await server.request('/oauth2/token')).status).to.equal(405);
    expect(await written(server)).to.deep.equal(before);
  });

  it('accepts one of two requests with a token that the user accepts once', async () => {
    const once = token({ claims: { sub: 'once', jti: 'run-1' } });
    const both = await Promise.all([1, 2].map(() => exchange(server, once, { client_id: 'once' })));
    expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 400]);
    expect((await exchange(server, once, { client_id: 'once' })).body.error).to.equal('invalid_request');
    expect((await exchange(server, token({ claims: { sub: 'once', jti: 'run-2' } }), { client_id: 'once' })).status).to.equal(200);
  });

  it('gives a token that makes no other credential, and cannot be exchanged again', async () => {
    const { body } = await exchange(server, token(), main);
    const { access_token: made = '' } = body;
    for (const subjectTokenType of [idToken, accessToken, idToken.replace('id_token', 'jwt')]) {
      const again = await exchange(server, made, { ...main, subject_token_type: subjectTokenType });
      expect([again.status, again.body.error]).to.deep.equal([400, 'invalid_request']);
    }
    for (const [path, given] of [
      [makePath, { description: 'more' }],
      ['/auth/v1/authorize', {}],
    ] as const) {
      const response = await server.request(path, { method: 'POST', token: made, body: given });
      expect((await refusalOf(response)).code, path).to.equal(403);
    }
  });

  it('narrows a token by its scope', async () => {
    await server.kubernetes.apply(clusterRoleBinding('shop', 'cluster-admin', { kind: 'User', name: 'machine:shop' }));
    const scoped = await exchange(server, token(), { ...main, scope: 'read namespace:default operation:ListUsers' });
    expect(scoped.body.scope).to.equal('read namespace:default operation:ListUsers');
    const status = async (method: string, path: string) => {
      const response = await server.request(path, {
        method,
        token: scoped.body.access_token ?? '',
        ...(method === 'POST' && { body: {} }),
      });
      await response.body?.cancel();
      return response.status;
    };
    const configMaps = (namespace: string) => `/api/kubernetes/api/v1/namespaces/${namespace}/configmaps`;
    await eventually(
      () => status('GET', configMaps('default')),
      (found) => found === 200,
    );
    expect(await status('POST', configMaps('default'))).to.equal(403);
    expect(await status('GET', configMaps('kube-system'))).to.equal(403);
    expect(await status('GET', tokensPath)).to.equal(403);
    expect(await status('GET', usersPath)).to.equal(403);
  });

  it('ends with the user, and with its trust in the issuer', async () => {
    const of = async (name: string, sub: string) =>
      (await exchange(server, token({ claims: { sub } }), { client_id: name })).body.access_token ?? '';
    const [one, other] = [await of('twin-1', 'twin'), await of('twin-2', 'twin')];
    const until = (made: string) =>
      eventually(
        () => whoIs(server, made),
        (found) => found === 401,
      );
    await mergePatch(server, user('twin-1'), { spec: { is_disabled: true } });
    await until(one);
    await mergePatch(server, user('twin-2'), { spec: { federation: [{ issuer: down, audience, claims: { sub: 'twin' } }] } });
    await until(other);
  });
});

describe('the limit of token exchanges', () => {
  const provider = forSuite(() => TestProvider.start({ clientID: audience }));
  const server = forSuite(() => startExchange(provider, [], { config: { login: { perMinute: 3 } } }));

  it('counts each network before it looks at a signature', async () => {
    for (const _ of [1, 2, 3]) expect((await exchange(server, 'x')).status).to.equal(400);
    provider.forgetRequests();
    const { status, headers, body } = await exchange(server, workloadToken(provider));
    expect([status, body.error]).to.deep.equal([429, 'temporarily_unavailable']);
    expect(Number(headers.get('retry-after'))).to.be.within(1, 60);
    expect(provider.requests).to.deep.equal([]);
  });
});
