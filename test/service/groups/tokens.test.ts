import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { z } from 'zod';
import { userRoleList } from '../../../src/roles/roles.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { issuedBy } from '../certificates/authorize.ts';
import { logIn, userInfoOf } from '../login/provider/browser.ts';
import { relyingParty } from '../relying-party/conformance/relying-party.ts';
import { nameOf } from '../users/a-user.ts';
import { aGroup, nativeGroups } from './support.ts';

const email = 'jane@example.com';
const jane = nameOf(email);
const password = 'correct horse battery';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

const toGroup = (group: string, role: string): Manifest =>
  clusterRoleBinding(`${group}-${role}`.replaceAll(':', '-'), role, { kind: 'Group', name: group });

const tokens = z.object({ access_token: z.string(), refresh_token: z.string() });
const userInfo = z.object({ groups: z.array(z.string()), ext: z.looseObject({ token: tokens.optional() }) });

for (const credentials of ['passthrough', 'impersonate'] as const) {
  describe(`local groups of people who log in at the embedded issuer, with credentials: ${credentials}`, () => {
    const service = forSuite(() => startEmbeddedLogin({ emails: [email], password, credentials }));
    before(async () => {
      await service.admin.apply(
        toGroup('local:dev', 'atrium-users-view'),
        toGroup('local:dev', 'atrium-certificates'),
        toGroup('dev', 'view'),
        aGroup('dev'),
        aGroup('idle'),
      );
      await setMembers([jane]);
      const token = await service.cluster.token('admin');
      await eventually(
        async () => userRoleList.parse(await (await get(`/auth/v1/usersroles?name=${jane}`, token)).json()).total,
        (total) => total === 3,
      );
    });

    /** Sets the members, and waits until the service has seen the change. */
    async function setMembers(names: readonly string[]) {
      const users = names.map((name) => ({ name }));
      await service.admin.call('PATCH', `${nativeGroups}/dev`, { spec: { users } }, mergePatch);
      const token = await service.cluster.token('admin');
      await eventually(
        async () =>
          z
            .object({ user: z.looseObject({ groups: z.array(z.string()) }) })
            .parse(await (await get(`/auth/v1/usersroles?name=${jane}`, token)).json()),
        ({ user }) => user.groups.includes('local:dev') === names.includes(jane),
      );
    }
    const get = (path: string, token: string) => service.request(path, { headers: { authorization: `Bearer ${token}` } });
    const logInForTokens = async () => {
      const { status, body } = await service.logIn(email, password, '?token_storage=local');
      expect(status, body).to.equal(200);
      const info = userInfo.parse(JSON.parse(body));
      return { info, ...tokens.parse(info.ext.token) };
    };
    const refresh = async (refreshToken: string) =>
      tokens.parse(await (await service.request(`/api/v2/token/refresh?refresh_token=${encodeURIComponent(refreshToken)}`)).json());

    it('are in their tokens and count in RBAC, and change with the next token', async () => {
      const first = await logInForTokens();
      expect(decodeJwt(first.access_token).groups).to.deep.equal(['dev', 'local:dev']);
      expect(first.info.groups).to.include.members(['dev', 'local:dev']);
      expect((await get('/auth/v2/users', first.access_token)).status).to.equal(200);

      await setMembers([]);
      const second = await refresh(first.refresh_token);
      expect(decodeJwt(second.access_token).groups).to.deep.equal(['dev']);
      expect((await get('/auth/v2/users', second.access_token)).status).to.equal(403);
      expect(userInfo.parse(await (await get('/api/v2/token/info', second.access_token)).json()).groups).not.to.include('local:dev');

      await setMembers([jane]);
      const third = await refresh(second.refresh_token);
      expect(decodeJwt(third.access_token).groups).to.deep.equal(['dev', 'local:dev']);
      expect((await get('/auth/v2/users', third.access_token)).status).to.equal(200);

      await service.admin.remove(`${nativeGroups}/dev`);
      await eventually(
        async () => decodeJwt((await logInForTokens()).access_token).groups,
        (groups) => JSON.stringify(groups) === '["dev"]',
      );
      await service.admin.apply(aGroup('dev', [jane]));
      await setMembers([jane]);
    });

    it('are not taken for groups of the issuer when the login is recorded', async () => {
      await logInForTokens();
      const { body } = await service.admin.call('GET', `/apis/auth.platform.io/v1/users/${jane}`);

      expect(body).to.have.deep.nested.property('status.groups', ['dev']);
    });

    it('list their roles, once each, for themselves and for callers who may look', async () => {
      const { access_token } = await logInForTokens();
      for (const [token, query] of [
        [access_token, ''],
        [access_token, `?name=${jane}`],
        [await service.cluster.token('admin'), `?name=${jane}`],
      ] as const) {
        const { user, items } = userRoleList.parse(await (await get(`/auth/v1/usersroles${query}`, token)).json());
        expect(user.groups.filter((group) => group === 'local:dev')).to.have.length(1);
        expect(items.map(({ role, via, subject }) => `${role} ${via} ${subject}`)).to.deep.equal([
          'atrium-certificates Group local:dev',
          'atrium-users-view Group local:dev',
          'view Group dev',
        ]);
      }
    });

    it('CRT-01 are missing from certificates, which would outlast them', async () => {
      const { access_token } = await logInForTokens();
      const authorize = (spec: object) =>
        service.request('/auth/v1/authorize', {
          method: 'POST',
          headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ spec }),
        });

      expect((await issuedBy(await authorize({}))).status.subject.organizations).to.deep.equal(['dev']);
      const asked = await authorize({ groups: ['local:dev'] });
      expect([asked.status, ((await asked.json()) as { message: string }).message]).to.deep.equal([
        403,
        '"local:dev" is not a group that a certificate of this user may name',
      ]);
    });
  });
}

describe('groups of another issuer', () => {
  const party = relyingParty();

  it('AUZ-06 cannot be called like a local one: those are dropped, from the record too', async () => {
    const { provider, service, cluster } = party();
    provider.person = { sub: 'jane-1', email, email_verified: true, groups: ['local:dev', 'ops', 'local:'] };
    await cluster.kubernetes.apply(aGroup('dev', []), toGroup('local:dev', 'atrium-users-view'));
    const { callback } = await logIn(service, { parameters: { token_storage: 'local' } });

    const { groups, ext } = userInfoOf(callback);
    expect(groups).to.deep.equal(['ops']);
    const { body } = await eventually(
      () => cluster.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${jane}`),
      (answer) => z.looseObject({ status: z.looseObject({ groups: z.unknown() }) }).safeParse(answer.body).success,
    );
    expect(body).to.have.deep.nested.property('status.groups', ['ops']);
    const list = await fetch(`${service.url}/auth/v2/users`, { headers: { authorization: `Bearer ${ext.token?.access_token}` } });
    expect(list.status).to.equal(403);
  });
});
