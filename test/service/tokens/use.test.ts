import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { grant } from '../../support/grants.ts';
import { sendRaw } from '../../support/raw-http.ts';
import type { TestServer } from '../../support/server.ts';
import {
  aPerson,
  listStatus,
  makePath,
  makeToken,
  mergePatch,
  patchUser,
  recordOf,
  refusalOf,
  startTokenServer,
  untilCauses,
  usersPath,
  whoIs,
} from './tokens.ts';

const groups = '/apis/auth.platform.io/v1/groups';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function withChecksum(signed: string): string {
  let text = '';
  for (let rest = crc32(signed); text.length < 6; rest = Math.floor(rest / 62)) text = `${digits[rest % 62]}${text}`;
  return `${signed}${text}`;
}

describe('an access token as credential', () => {
  let server: TestServer;

  before(async () => {
    const objects = [aPerson('alice', { groups: ['dev', 'dev ', 'al:viewers', 'local:viewers'] }), aPerson('bob')];
    // The prefix could move a user into a reserved group, and access decisions are cached for long.
    const login = { claims: { groupsPrefix: 'loc' } };
    server = await startTokenServer({ objects, config: { login, kubernetes: { accessCache: '60s' }, users: { idleDays: 0 } } });
    await grant(server.kubernetes, 'alice', 'atrium-users-view');
    // Roles of a local group, which alice must not get by the groups of her record.
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

  it('acts as its owner, with the groups of the record, prefixed, and none that are kept here or that no header carries', async () => {
    const { token } = await makeToken(server, 'alice');

    expect(await whoIs(server, token)).to.deep.equal({ name: 'alice', groups: ['locdev'] });
    expect(await listStatus(server, token)).to.equal(200);
    const own = await server.request('/auth/v1/me', { token });
    expect(((await own.json()) as { metadata: { name: string } }).metadata.name).to.equal(recordOf('alice'));
    const native = await server.request('/apis/auth.platform.io/v1/users', { token });
    expect(native.status).to.equal(200);
    const bobs = await makeToken(server, 'bob');
    expect(await listStatus(server, bobs.token)).to.equal(403);
  });

  it('is a credential in a header alone, written as any bearer token', async () => {
    const { token } = await makeToken(server, 'alice');
    const status = async (header: string) => (await server.request(usersPath, { headers: { Authorization: header } })).status;

    expect(await status(`bearer ${token}`)).to.equal(200);
    expect(await status(`BEARER   ${token}`)).to.equal(200);
    for (const header of [`Basic ${token}`, `Token ${token}`, token, `Bearer ${token} x`, `Bearer ${token},`, `Bearer "${token}"`])
      expect(await status(header), header.replace(token, '…')).to.equal(401);
    for (const path of [`${usersPath}?access_token=${token}`, `${usersPath}?token=${token}`])
      expect((await server.request(path)).status).to.equal(401);
    const cookie = { Cookie: `__Host-atrium_session=${token}; atrium_session=${token}` };
    expect((await server.request(usersPath, { headers: cookie })).status).to.equal(401);
    const twice = await sendRaw(
      server.port,
      `GET ${usersPath} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
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
      const response = await server.request(usersPath, { token: text });
      expect(response.status, what).to.equal(401);
      expect(response.headers.get('www-authenticate'), what).to.equal('Bearer realm="atrium", error="invalid_token"');
      expect((await refusalOf(response)).details?.causes ?? [], what).to.deep.equal([]);
    }
    // Operations with an optional credential refuse it too, instead of falling back to anonymous.
    expect((await server.request('/api/v1/modules', { token: wrong['of another checksum'] })).status).to.equal(401);
    // The prefix is case sensitive; the API server verifies other tokens, and does not know this one.
    expect(await listStatus(server, `CAT_${token.slice(4)}`)).to.equal(401);
  });

  it('loses and gets the groups of its owner at once, although decisions are kept', async () => {
    const { token } = await makeToken(server, 'bob');
    const until = (status: number) =>
      eventually(
        () => listStatus(server, token),
        (found) => found === status,
      );
    expect(await listStatus(server, token)).to.equal(403);

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
      await untilCauses(server, token, 401, 'AccountInvalid');
    }
    await patchUser(server, 'bob', { status: { subjectName: 'bob' } });
    await untilCauses(server, token, 403);
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
});
