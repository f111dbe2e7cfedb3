/** An account of an issuer keeps one record when the issuer changes its e-mail address. */
import { expect } from 'chai';
import { recordName } from '../../../src/users/record/account.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { causesOf, expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { refresh, session, tokens } from '../sessions/support.ts';
import { authorize, Browser, logIn, loginInfoOf, type Reply, userInfoOf } from './provider/browser.ts';

const usersPath = '/apis/auth.platform.io/v1/users';
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const unlimited = { perMinute: 1_000_000 };

interface UserObject {
  metadata: { name: string };
  spec: { email: string };
  status?: { phase?: string; subjectName?: string; subjects?: { issuer: string; sub: string }[] };
}

describe('cases/05 a user whose address changes at the issuer', () => {
  const party = relyingParty({ config: { login: unlimited } });
  let users = 0;
  let before: string;
  let after: string;
  let sub: string;

  beforeEach(() => {
    users += 1;
    [before, after, sub] = [`before-${users}@example.com`, `after-${users}@example.com`, `person-${users}`];
    become(before);
  });

  const become = (email: string, differing: Record<string, unknown> = {}) => {
    party().provider.person = { sub, email, email_verified: true, groups: ['dev'], ...differing };
  };
  /** Returns all records of the account. */
  const records = async (): Promise<UserObject[]> => {
    const { body } = await party().cluster.kubernetes.call('GET', usersPath);
    const { items } = body as { items: UserObject[] };
    return items.filter(({ spec, status }) => [before, after].includes(spec.email) || status?.subjects?.some((one) => one.sub === sub));
  };
  const me = (credential: string) => fetch(`${party().service.url}/auth/v1/me`, { headers: { authorization: `Bearer ${credential}` } });
  const untilRefused = async (credential: string) => {
    await eventually(
      async () => (await me(credential)).status,
      (status) => status === 401,
    );
  };
  const makeAccessToken = async (bearer: string) => {
    const made = await fetch(`${party().service.url}/auth/v1/accesstoken`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'of a program' }),
    });
    const text = await made.text();
    expect(made.status, text).to.equal(201);
    return (JSON.parse(text) as { token: string }).token;
  };
  const expectRefused = (callback: Reply) => {
    expectStatus(callback, 401, 'AddressChanged');
    expect(causesOf(callback)).to.deep.equal(['AddressChanged']);
    expect(callback.text).to.not.include('before-');
  };
  const asAdmin = async (method: string, path: string) => {
    const { cluster, service } = party();
    const { token } = await cluster.adminTarget();
    return fetch(`${service.url}${path}`, { method, headers: { authorization: `Bearer ${token}` } });
  };

  it('cases/05 keeps one record, ends the sessions and tokens of the old address, and refuses the login with the reason', async () => {
    const { service } = party();
    const local = await tokens(service);
    const accessToken = await makeAccessToken(local.bearer);
    const { browser } = await session(service);
    expect((await me(accessToken)).status).to.equal(200);
    become(after);

    for (const version of ['v1', 'v2'] as const) expectRefused((await logIn(service, { version })).callback);

    const found = await records();
    expect(found.map(({ spec }) => spec.email)).to.deep.equal([before]);
    for (const credential of [accessToken, local.bearer]) await untilRefused(credential);
    expectStatus(await refresh(local.browser, local.refreshToken), 401);
    expectStatus(await browser.info('v2'), 401);
    const told = service.logLines.filter(
      (line) => line.includes('another e-mail address') && line.includes(before) && line.includes(after),
    );
    expect(told).to.have.length(2);
    expect(service.auditLines.filter((line) => line.includes('"AddressChanged"'))).not.to.deep.equal([]);
  });

  it('cases/05 refuses a bearer token of the new address', async () => {
    const { provider, service } = party();
    expectOK((await logIn(service)).callback);
    expectOK(await new Browser(service.url).info('v2', provider.idToken()));
    become(after);

    const answer = await new Browser(service.url).info('v2', provider.idToken());

    expectStatus(answer, 401, 'AddressChanged');
    expect(causesOf(answer)).to.deep.equal(['AddressChanged']);
  });

  it('cases/05 accepts the user again when the old address returns', async () => {
    const { service } = party();
    expectOK((await logIn(service)).callback);
    become(after);
    expectRefused((await logIn(service)).callback);
    become(before);

    const { browser } = await session(service);

    expectOK(await browser.info('v2'));
  });

  it('cases/05 keeps the account disabled under either address', async () => {
    const { cluster, service } = party();
    expectOK((await logIn(service)).callback);
    const path = `${usersPath}/${recordName(before)}`;
    await cluster.kubernetes.call('PATCH', path, { spec: { is_disabled: true, state: 'inactive' } }, mergePatch);
    for (const email of [before, after]) {
      become(email);
      expectStatus((await logIn(service)).callback, 401);
    }
    expect((await records()).map(({ spec }) => spec.email)).to.deep.equal([before]);
  });

  it('cases/05 makes a record for the new address once an administrator has deleted the old one', async () => {
    const { service } = party();
    const local = await tokens(service);
    const accessToken = await makeAccessToken(local.bearer);
    become(after);
    expectRefused((await logIn(service)).callback);

    expect((await asAdmin('DELETE', `/auth/v1/users/${recordName(before)}`)).status).to.equal(204);

    const callback = await eventually(
      async () => (await logIn(service)).callback,
      ({ status }) => status === 200,
    );
    expect(userInfoOf(callback).ext.user).to.equal(recordName(after));
    expect((await records()).map(({ spec }) => spec.email)).to.deep.equal([after]);
    for (const credential of [accessToken, local.bearer]) await untilRefused(credential);
  });

  it('cases/05 makes a record for the new address once the old one has forgotten its account', async () => {
    const { service } = party();
    expectOK((await logIn(service)).callback);
    become(after);
    expectRefused((await logIn(service)).callback);

    expect((await asAdmin('DELETE', `/auth/v1/users/${recordName(before)}/subjects`)).status).to.equal(204);

    const callback = await eventually(
      async () => (await logIn(service)).callback,
      ({ status }) => status === 200,
    );
    expect(userInfoOf(callback).ext.user).to.equal(recordName(after));
    const holders = (await records()).filter(({ status }) => status?.subjects?.some((one) => one.sub === sub));
    expect(holders.map(({ spec }) => spec.email)).to.deep.equal([after]);
  });

  it('cases/05 leaves another account, which has got the old address, outside of the record', async () => {
    const { service } = party();
    expectOK((await logIn(service)).callback);
    become(before, { sub: `${sub}-next` });

    expectStatus((await logIn(service)).callback, 401, 'SubjectDiffers');
  });

  describe('on two replicas', () => {
    const other = forSuite(() => party().cluster.service({ provider: party().provider, config: { login: unlimited } }));

    it('cases/05 lets one of two first logins with different addresses make a record', async () => {
      const { service } = party();
      for (let round = 0; round < 4; round += 1) {
        users += 1;
        [before, after, sub] = [`before-${users}@example.com`, `after-${users}@example.com`, `person-${users}`];
        const visits = [];
        for (const [replica, email] of [
          [service, before],
          [other, after],
        ] as const) {
          become(email);
          const browser = new Browser(replica.url);
          const { auth_url } = loginInfoOf(await browser.login('v2', { token_storage: 'cookie' }));
          visits.push({ browser, answer: await authorize(auth_url) });
        }

        const callbacks = await Promise.all(visits.map(({ browser, answer }) => browser.callback('v2', answer)));

        const succeeded = callbacks.filter(({ status }) => status === 200);
        for (const { status, text } of callbacks) if (status !== 200) expect(text).to.include('AddressChanged');
        expect(succeeded.length).to.be.lessThan(2);
        const found = (await records()).filter(({ status }) => status?.subjects?.some((one) => one.sub === sub));
        expect(found.length, JSON.stringify(found)).to.equal(succeeded.length);
        expect((await records()).length).to.equal(succeeded.length);
      }
    });
  });
});

describe('cases/05 a user with a username claim other than email', () => {
  const party = relyingParty({ config: { login: { ...unlimited, claims: { username: 'sub', usernamePrefix: '-' } } } });

  it('cases/05 keeps record, name and credentials when the address changes', async () => {
    const { provider, service } = party();
    provider.person = { sub: 'kim-1', email: 'kim@example.com', email_verified: true, groups: [] };
    const { bearer } = await tokens(service);
    provider.person = { sub: 'kim-1', email: 'kim@example.org', email_verified: true, groups: [] };

    const { callback } = await logIn(service);

    expectOK(callback);
    expect(userInfoOf(callback)).to.have.property('name', 'kim-1');
    expect(userInfoOf(callback).ext.user).to.equal(recordName('kim@example.com'));
    expectOK(await new Browser(service.url).info('v2', bearer));
    expectOK(await new Browser(service.url).info('v2', provider.idToken()));
    const { body } = await party().cluster.kubernetes.call('GET', usersPath);
    expect((body as { items: unknown[] }).items).to.have.length(1);
  });
});
