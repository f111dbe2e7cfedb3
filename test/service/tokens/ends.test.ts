import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { grant } from '../../support/grants.ts';
import type { TestServer } from '../../support/server.ts';
import {
  aPerson,
  causesOf,
  deleteStored,
  listStatus,
  makeToken,
  patchUser,
  recordOf,
  refusalOf,
  startTokenServer,
  storedToken,
  tokensPath,
  untilCauses,
  usersPath,
  whoIs,
} from './tokens.ts';

const day = 86_400;

describe('an access token that ends, or is not valid', () => {
  let server: TestServer;
  let ahead = 0;
  const now = () => new Date(Date.now() + ahead * 1000);

  before(async () => {
    const objects = [aPerson('alice', { groups: ['dev'] }), aPerson('bob'), aPerson('carol')];
    // Access decisions are cached for long.
    const config = {
      login: { claims: { groupsPrefix: 'loc' } },
      kubernetes: { accessCache: '60s' },
      users: { idleDays: 0, accessTokens: { unusedDays: 10 } },
    };
    server = await startTokenServer({ objects, now, config });
    await grant(server.kubernetes, 'alice', 'atrium-users-view');
  });
  after(() => server.stop());

  it('is valid on a replica that has not created it, and ends on all of them when it is deleted', async () => {
    const replica = await server.replica();
    try {
      const { id, token } = await makeToken(server, 'alice');
      // The next request may arrive at another replica.
      expect(await whoIs(server, token, replica.url)).to.deep.equal({ name: 'alice', groups: ['locdev'] });

      const gone = await server.request(`${tokensPath}/${id}`, { method: 'DELETE', as: 'alice' });

      expect(gone.status).to.equal(204);
      expect(await whoIs(server, token)).to.equal(401);
      await eventually(
        () => whoIs(server, token, replica.url),
        (answer) => answer === 401,
      );
    } finally {
      await replica.stop();
    }
  });

  it('ends with kubectl delete accesstoken, as fast as a watch tells', async () => {
    const { id, token } = await makeToken(server, 'alice');
    expect(await listStatus(server, token)).to.equal(200);

    await deleteStored(server, id);

    await untilCauses(server, token, 401);
  });

  it('ends at its expiration, whatever was decided before', async () => {
    const { token } = await makeToken(server, 'alice', { description: 'short', expiration: Math.floor(now().getTime() / 1000) + 600 });
    expect(await listStatus(server, token)).to.equal(200);
    // The real time also passes.
    ahead = 500;
    expect(await listStatus(server, token)).to.equal(200);

    ahead = 601;

    expect(await causesOf(server, token)).to.deep.equal([401, 'TokenExpired']);
    ahead = 0;
  });

  it('ends when it was not used for the days of the setting, and a use moves the end', async () => {
    const expiration = Math.floor(now().getTime() / 1000) + 60 * day;
    const { id, token } = await makeToken(server, 'alice', { description: 'rare', expiration });
    ahead = 9 * day;
    expect(await listStatus(server, token)).to.equal(200);
    await eventually(
      async () => (await storedToken(server, id))?.status?.lastUsedTime,
      (time) => time !== undefined,
    );
    ahead = 18 * day;
    await eventually(
      () => listStatus(server, token),
      (status) => status === 200,
    );

    ahead = 29 * day;

    expect(await causesOf(server, token)).to.deep.equal([401, 'TokenUnused']);
    ahead = 0;
  });

  it('is not valid while its owner is disabled, and is again afterwards', async () => {
    const { token } = await makeToken(server, 'bob');
    const { token: other } = await makeToken(server, 'alice');
    expect(await causesOf(server, token)).to.deep.equal([403]);

    await patchUser(server, 'bob', { spec: { is_disabled: true } });
    await untilCauses(server, token, 401, 'AccountDisabled');
    await patchUser(server, 'bob', { spec: { is_disabled: false, valid: false } });
    await untilCauses(server, token, 401, 'AccountInvalid');
    await patchUser(server, 'bob', { spec: { valid: true, expired: { end: '2026-01-01T00:00:00Z' } } });
    await untilCauses(server, token, 401, 'AccountExpired');
    await patchUser(server, 'bob', { spec: { expired: null } });

    await untilCauses(server, token, 403);
    expect(await listStatus(server, other)).to.equal(200);
    // A lock affects logins only: otherwise a stranger could revoke a user's token by guessing passwords.
    await patchUser(server, 'bob', { status: { lockedUntil: '2999-01-01T00:00:00Z' } });
    await eventually(
      async () => (await (await server.request('/auth/v1/me', { token })).json()) as { status: { lockedUntil?: string } },
      ({ status }) => status.lockedUntil !== undefined,
    );
    expect(await causesOf(server, token)).to.deep.equal([403]);
    await patchUser(server, 'bob', { status: { lockedUntil: null } });
  });

  it('outlives a change of the password, and waits for one that is due', async () => {
    const { token } = await makeToken(server, 'alice');
    await patchUser(server, 'alice', { status: { sessionsNotBefore: '2999-01-01T00:00:00Z', mustChangePassword: true } });
    const due = await eventually(
      () => server.request(usersPath, { token }),
      ({ status }) => status === 403,
    );
    expect((await refusalOf(due)).details?.causes[0]?.reason).to.equal('PasswordChangeRequired');

    await patchUser(server, 'alice', { status: { mustChangePassword: false } });

    await eventually(
      () => listStatus(server, token),
      (status) => status === 200,
    );
    await patchUser(server, 'alice', { status: { sessionsNotBefore: null } });
  });

  it('USR-16 ends with its owner, and does not pass to the next user of the name', async () => {
    const { id, token } = await makeToken(server, 'carol');
    const { id: kept, token: keptToken } = await makeToken(server, 'carol');
    expect(await causesOf(server, token)).to.deep.equal([403]);

    await server.kubernetes.remove(`/apis/auth.platform.io/v1/users/${recordOf('carol')}`);
    await eventually(
      () => causesOf(server, token),
      ([status]) => status === 401,
    );
    await server.kubernetes.apply(aPerson('carol'));
    await eventually(
      async () => (await server.request('/auth/v1/me', { as: 'carol' })).status,
      (status) => status === 200,
    );

    expect((await causesOf(server, token))[0]).to.equal(401);
    // The garbage collector deletes the tokens.
    for (const one of [id, kept])
      await eventually(
        () => storedToken(server, one),
        (object) => object === undefined,
      );
    await untilCauses(server, keptToken, 401);
    const list = (await (await server.request(tokensPath, { as: 'carol' })).json()) as { total: number };
    expect(list.total).to.equal(0);
  });

  it('is not valid without the owner for whom it was created, also while the object still exists', async () => {
    const { id, token } = await makeToken(server, 'alice');
    const path = `/apis/auth.platform.io/v1/accesstokens/${id}`;
    const { body } = await server.kubernetes.call('GET', path);
    const { spec } = body as { spec: object };
    await deleteStored(server, id);
    await untilCauses(server, token, 401);

    // A writer outside of the service may know the hash and write such an object, which has no uid of a user.
    await server.kubernetes.apply({ apiVersion: 'auth.platform.io/v1', kind: 'AccessToken', metadata: { name: id }, spec: { ...spec } });

    await untilCauses(server, token, 401, 'TokenRevoked');
    await deleteStored(server, id);
  });

  it('may end itself', async () => {
    const { id, token } = await makeToken(server, 'alice');
    expect((await server.request(`${tokensPath}/${id}`, { method: 'DELETE', token })).status).to.equal(204);
    expect(await causesOf(server, token)).to.deep.equal([401]);
  });
});
