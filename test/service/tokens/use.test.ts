import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { grant } from '../../support/grants.ts';
import { sendRaw } from '../../support/raw-http.ts';
import type { TestServer } from '../../support/server.ts';
import {
  aPerson,
  deleteStored,
  makePath,
  makeToken,
  mergePatch,
  patchUser,
  recordOf,
  refusalOf,
  startTokenServer,
  storedToken,
  tokensPath,
  whoIs,
} from './tokens.ts';

const users = '/auth/v2/users';
const groups = '/apis/auth.platform.io/v1/groups';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function withChecksum(signed: string): string {
  let text = '';
  for (let rest = crc32(signed); text.length < 6; rest = Math.floor(rest / 62)) text = `${digits[rest % 62]}${text}`;
  return `${signed}${text}`;
}

describe('an access token as credential', () => {
  let server: TestServer;
  let ahead = 0;
  const now = () => new Date(Date.now() + ahead * 1000);

  before(async () => {
    const objects = [aPerson('alice', { groups: ['dev', 'dev ', 'al:viewers', 'local:viewers'] }), aPerson('bob'), aPerson('carol')];
    // With a prefix by which a user could try to get into a group that is kept here, and decisions kept for long.
    const login = { claims: { groupsPrefix: 'loc' } };
    server = await startTokenServer({ objects, now, config: { login, kubernetes: { accessCache: '60s' }, users: { idleDays: 0 } } });
    await grant(server.kubernetes, 'alice', 'atrium-users-view');
    // Rights of a group, kept here.
    await server.kubernetes.apply(
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'viewers-of-users' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'atrium-users-view' },
        subjects: ['loctold-viewers', 'local:viewers'].map((name) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name })),
      },
      { apiVersion: 'auth.platform.io/v1', kind: 'Group', metadata: { name: 'viewers' }, spec: { displayName: 'Viewers' } },
    );
  });
  after(() => server.stop());

  const listStatus = async (token: string) => {
    const response = await server.request(users, { token });
    await response.body?.cancel();
    return response.status;
  };
  const causesOf = async (token: string) => {
    const response = await server.request(users, { token });
    if (response.status !== 401) return [response.status];
    const { message, details } = await refusalOf(response);
    expect(message).not.to.include(token);
    return [401, ...(details?.causes.map(({ reason }) => reason) ?? [])];
  };
  const untilCauses = (token: string, ...wanted: unknown[]) =>
    eventually(
      () => causesOf(token),
      (found) => found.join() === wanted.join(),
    );

  it('acts as its owner, with the groups of the record, prefixed, and none that are kept here or that no header carries', async () => {
    const { token } = await makeToken(server, 'alice');

    expect(await whoIs(server, token)).to.deep.equal({ name: 'alice', groups: ['locdev'] });
    expect(await listStatus(token)).to.equal(200);
    const own = await server.request('/auth/v1/me', { token });
    expect(((await own.json()) as { metadata: { name: string } }).metadata.name).to.equal(recordOf('alice'));
    const native = await server.request('/apis/auth.platform.io/v1/users', { token });
    expect(native.status).to.equal(200);
    const bobs = await makeToken(server, 'bob');
    expect(await listStatus(bobs.token)).to.equal(403);
  });

  it('is a credential in a header alone, written as any bearer token', async () => {
    const { token } = await makeToken(server, 'alice');
    const status = async (header: string) => (await server.request(users, { headers: { Authorization: header } })).status;

    expect(await status(`bearer ${token}`)).to.equal(200);
    expect(await status(`BEARER   ${token}`)).to.equal(200);
    for (const header of [`Basic ${token}`, `Token ${token}`, token, `Bearer ${token} x`, `Bearer ${token},`, `Bearer "${token}"`])
      expect(await status(header), header.replace(token, '…')).to.equal(401);
    for (const path of [`${users}?access_token=${token}`, `${users}?token=${token}`])
      expect((await server.request(path)).status).to.equal(401);
    const cookie = { Cookie: `__Host-atrium_session=${token}; atrium_session=${token}` };
    expect((await server.request(users, { headers: cookie })).status).to.equal(401);
    const twice = await sendRaw(
      server.port,
      `GET ${users} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    expect(twice.status).to.equal(401);
  });

  it('is refused, with nothing said about it, when anything in it is wrong', async () => {
    const { id, token } = await makeToken(server, 'alice');
    const other = await makeToken(server, 'alice');
    const wrong = {
      'of another checksum': `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`,
      'of another secret': token.replace(/_(.)(?=.{48}$)/, (_text, first: string) => `_${first === 'x' ? 'y' : 'x'}`),
      'of another secret, with its checksum': withChecksum(`cat_${id}_${other.token.slice(5 + id.length, -6)}`),
      'of another id': `cat_${other.id}${token.slice(4 + id.length)}`,
      short: token.slice(0, -7),
      long: `${token}x`,
      'in capitals': token.toUpperCase().replace('CAT_', 'cat_'),
      'an id alone': `cat_${id}`,
      'a prefix alone': 'cat_',
    };
    for (const [what, text] of Object.entries(wrong)) {
      const response = await server.request(users, { token: text });
      expect(response.status, what).to.equal(401);
      expect(response.headers.get('www-authenticate'), what).to.equal('Bearer realm="atrium", error="invalid_token"');
      expect((await refusalOf(response)).details?.causes ?? [], what).to.deep.equal([]);
    }
    // Where the credential is optional, too: it is no fallback.
    expect((await server.request('/api/v1/modules', { token: wrong['of another checksum'] })).status).to.equal(401);
    // The prefix is case sensitive; anything else is the API server's to judge, and this it does not know.
    expect(await listStatus(`CAT_${token.slice(4)}`)).to.equal(401);
  });

  it('counts on a replica that has not made it, and ends on all of them when it is deleted', async () => {
    const replica = await server.replica();
    try {
      const { id, token } = await makeToken(server, 'alice');
      // The very next request may come to another replica.
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
    expect(await listStatus(token)).to.equal(200);

    await deleteStored(server, id);

    await untilCauses(token, 401);
  });

  it('ends at its expiration, whatever was decided before', async () => {
    const { token } = await makeToken(server, 'alice', { description: 'short', expiration: Math.floor(now().getTime() / 1000) + 600 });
    expect(await listStatus(token)).to.equal(200);
    // The clock goes on by itself, too.
    ahead = 500;
    expect(await listStatus(token)).to.equal(200);

    ahead = 601;

    expect(await causesOf(token)).to.deep.equal([401, 'TokenExpired']);
    ahead = 0;
  });

  it('does not count while its owner is switched off, and does again afterwards', async () => {
    const { token } = await makeToken(server, 'bob');
    const { token: other } = await makeToken(server, 'alice');
    expect(await causesOf(token)).to.deep.equal([403]);

    await patchUser(server, 'bob', { spec: { is_disabled: true } });
    await untilCauses(token, 401, 'AccountDisabled');
    await patchUser(server, 'bob', { spec: { is_disabled: false, valid: false } });
    await untilCauses(token, 401, 'AccountInvalid');
    await patchUser(server, 'bob', { spec: { valid: true, expired: { end: '2026-01-01T00:00:00Z' } } });
    await untilCauses(token, 401, 'AccountExpired');
    await patchUser(server, 'bob', { spec: { expired: null } });

    await untilCauses(token, 403);
    expect(await listStatus(other)).to.equal(200);
    // A lock stops logins only: a stranger could end a user's token by guessing passwords.
    await patchUser(server, 'bob', { status: { lockedUntil: '2999-01-01T00:00:00Z' } });
    await eventually(
      async () => (await (await server.request('/auth/v1/me', { token })).json()) as { status: { lockedUntil?: string } },
      ({ status }) => status.lockedUntil !== undefined,
    );
    expect(await causesOf(token)).to.deep.equal([403]);
    await patchUser(server, 'bob', { status: { lockedUntil: null } });
  });

  it('outlives a change of the password, and waits for one that is due', async () => {
    const { token } = await makeToken(server, 'alice');
    await patchUser(server, 'alice', { status: { sessionsNotBefore: '2999-01-01T00:00:00Z', mustChangePassword: true } });
    const due = await eventually(
      () => server.request(users, { token }),
      ({ status }) => status === 403,
    );
    expect((await refusalOf(due)).details?.causes[0]?.reason).to.equal('PasswordChangeRequired');

    await patchUser(server, 'alice', { status: { mustChangePassword: false } });

    await eventually(
      () => listStatus(token),
      (status) => status === 200,
    );
    await patchUser(server, 'alice', { status: { sessionsNotBefore: null } });
  });

  it('loses and gets the groups of its owner at once, although decisions are kept', async () => {
    const { token } = await makeToken(server, 'bob');
    const until = (status: number) =>
      eventually(
        () => listStatus(token),
        (found) => found === status,
      );
    expect(await listStatus(token)).to.equal(403);

    await patchUser(server, 'bob', { status: { groups: ['told-viewers'] } });
    await until(200);
    await patchUser(server, 'bob', { status: { groups: [] } });
    await until(403);

    await mergePatch(server, `${groups}/viewers`, { spec: { users: [{ name: recordOf('bob') }] } });
    await until(200);
    expect(await whoIs(server, token)).to.deep.equal({ name: 'bob', groups: ['local:viewers'] });
    await mergePatch(server, `${groups}/viewers`, { spec: { users: [] } });
    await until(403);
  });

  it('never acts as Kubernetes itself, nor as nobody, whatever stands in the record', async () => {
    const { token } = await makeToken(server, 'bob');
    for (const subjectName of ['system:admin', 'system:serviceaccount:atrium-system:atrium', '']) {
      await patchUser(server, 'bob', { status: { subjectName } });
      await untilCauses(token, 401, 'AccountInvalid');
    }
    await patchUser(server, 'bob', { status: { subjectName: 'bob' } });
    await untilCauses(token, 403);
  });

  it('USR-16 ends with its owner, and does not pass to the next user of the name', async () => {
    const { id, token } = await makeToken(server, 'carol');
    const { id: kept, token: keptToken } = await makeToken(server, 'carol');
    expect(await causesOf(token)).to.deep.equal([403]);

    await server.kubernetes.remove(`/apis/auth.platform.io/v1/users/${recordOf('carol')}`);
    await eventually(
      () => causesOf(token),
      ([status]) => status === 401,
    );
    await server.kubernetes.apply(aPerson('carol'));
    await eventually(
      async () => (await server.request('/auth/v1/me', { as: 'carol' })).status,
      (status) => status === 200,
    );

    expect((await causesOf(token))[0]).to.equal(401);
    // The garbage collector takes them along.
    for (const one of [id, kept])
      await eventually(
        () => storedToken(server, one),
        (object) => object === undefined,
      );
    await untilCauses(keptToken, 401);
    const list = (await (await server.request(tokensPath, { as: 'carol' })).json()) as { total: number };
    expect(list.total).to.equal(0);
  });

  it('does not count without the owner that it was made for, also while the object is still there', async () => {
    const { id, token } = await makeToken(server, 'alice');
    const path = `/apis/auth.platform.io/v1/accesstokens/${id}`;
    const { body } = await server.kubernetes.call('GET', path);
    const { spec } = body as { spec: object };
    await deleteStored(server, id);
    await untilCauses(token, 401);

    // By a writer who may write these objects past the service, and knows the hash: it names no user's uid.
    await server.kubernetes.apply({ apiVersion: 'auth.platform.io/v1', kind: 'AccessToken', metadata: { name: id }, spec: { ...spec } });

    await untilCauses(token, 401, 'TokenRevoked');
    await deleteStored(server, id);
  });

  it('makes no credential and changes no password, its own or another’s', async () => {
    await grant(server.kubernetes, 'alice', 'cluster-admin');
    const { token } = await makeToken(server, 'alice');
    const mergePatchType = { 'Content-Type': 'application/merge-patch+json' };
    const secret = { spec: { password: 'correct horse battery', old_password: 'something older' } };
    const forbidden = [
      { method: 'POST', path: makePath, body: { description: 'more' } },
      { method: 'POST', path: '/auth/v1/authorize', body: {} },
      { method: 'PATCH', path: `/auth/v1/users/${recordOf('alice')}`, body: secret, headers: mergePatchType },
      {
        method: 'PATCH',
        path: `/auth/v1/users/${recordOf('bob')}`,
        body: { spec: { password: 'correct horse battery' } },
        headers: mergePatchType,
      },
      {
        method: 'PATCH',
        path: `/auth/v1/users/${recordOf('bob')}`,
        body: [{ op: 'add', path: '/spec/password', value: 'correct horse battery' }],
        headers: { 'Content-Type': 'application/json-patch+json' },
      },
    ];
    for (const { path, ...rest } of forbidden) {
      const response = await server.request(path, { ...rest, token });
      const { code, reason, message, details } = await refusalOf(response);
      expect([code, reason, details?.causes[0]?.reason], path).to.deep.equal([403, 'Forbidden', 'AccessTokenNotAllowed']);
      expect(message).to.match(/^an access token cannot /);
    }
    const renamed = await server.request(`/auth/v1/users/${recordOf('alice')}`, {
      method: 'PATCH',
      body: { spec: { username: 'Alice' } },
      headers: mergePatchType,
      token,
    });
    expect(renamed.status, await renamed.text()).to.equal(200);
  });

  it('may end itself', async () => {
    const { id, token } = await makeToken(server, 'alice');
    expect((await server.request(`${tokensPath}/${id}`, { method: 'DELETE', token })).status).to.equal(204);
    expect(await causesOf(token)).to.deep.equal([401]);
  });
});
