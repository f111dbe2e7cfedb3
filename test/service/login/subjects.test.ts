import { expect } from 'chai';
import { recordName } from '../../../src/users/record/account.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { causesOf, expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { refresh, session, tokens } from '../sessions/support.ts';
import { Browser, logIn, userInfoOf } from './provider/browser.ts';
import type { TestProvider } from './provider/provider.ts';
import type { LoginCluster } from './support.ts';

const usersPath = '/apis/auth.platform.io/v1/users';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

interface Party {
  cluster: LoginCluster;
  provider: TestProvider;
}

interface Status {
  subjects?: { issuer: string; sub: string }[];
  [field: string]: unknown;
}

async function recordOf({ cluster }: Party, login: string): Promise<{ spec: unknown; status: Status } | undefined> {
  const { status, body } = await cluster.kubernetes.call('GET', `${usersPath}/${recordName(login)}`);
  return status === 200 ? (body as { spec: unknown; status: Status }) : undefined;
}

async function makeUser({ cluster }: Party, email: string): Promise<void> {
  const spec = { email, username: 'Made Before', connector_type: '', connector_id: '', connector_name: '', is_admin: false };
  const metadata = { name: recordName(email) };
  await cluster.kubernetes.call('POST', usersPath, { apiVersion: 'auth.platform.io/v1', kind: 'User', metadata, spec });
}

const unlimited = { perMinute: 1_000_000 };

/** A record belongs to one subject of the issuer (docs/contract/login.md). */
describe('a user record for the subject that logs in', () => {
  const party = relyingParty({ config: { login: unlimited } });
  let users = 0;

  /** Claims of a user at the issuer, with an address for this test alone. */
  const person = (sub: string, differing: Record<string, unknown> = {}) => {
    const email = `person-${users}@example.com`;
    party().provider.person = { sub, email, email_verified: true, groups: ['dev'], ...differing };
    return email;
  };

  beforeEach(() => {
    users += 1;
  });

  it('REC-05 is written at the first login, once', async () => {
    const { provider, service } = party();
    const email = person('first');
    for (let turn = 0; turn < 2; turn += 1) expectOK((await logIn(service)).callback);
    expect((await recordOf(party(), email))?.status.subjects).to.deep.equal([{ issuer: provider.issuer, sub: 'first' }]);
  });

  it('REC-05 refuses the login of another sub with the same address, and leaves everything as it is', async () => {
    const { service } = party();
    const email = person('owner');
    const owner = await tokens(service);
    // The controller of users writes labels and conditions after a login.
    const before = await eventually(
      () => recordOf(party(), email),
      (record) => record?.status.conditions !== undefined,
    );
    person('another', { groups: ['admins'], name: 'Another' });
    for (const version of ['v1', 'v2'] as const) {
      const { callback } = await logIn(service, { version });
      expectStatus(callback, 401, 'SubjectDiffers');
      expect(causesOf(callback)).to.deep.equal(['SubjectDiffers']);
      expect(callback.text).to.not.include('person-');
    }
    expect(await recordOf(party(), email)).to.deep.equal(before);
    expectOK(await owner.browser.info('v2', owner.bearer));
    expectOK(await refresh(owner.browser, owner.refreshToken));
    person('owner');
    expectOK((await logIn(service)).callback);
  });

  it('REC-05 refuses bearer tokens of another sub, also while the record is disabled', async () => {
    const { cluster, provider, service } = party();
    const email = person('second-owner');
    expectOK((await logIn(service)).callback);
    const other = provider.idToken({ claims: { sub: 'another' } });
    await eventually(
      () => new Browser(service.url).info('v2', other),
      ({ status }) => status === 401,
    );
    expectStatus(await new Browser(service.url).info('v2', other), 401, 'SubjectDiffers');
    expectOK(await new Browser(service.url).info('v2', provider.idToken()));
    await cluster.kubernetes.call(
      'PATCH',
      `${usersPath}/${recordName(email)}`,
      { spec: { is_disabled: true, state: 'inactive' } },
      mergePatch,
    );
    person('another');
    expectStatus((await logIn(service)).callback, 401, 'SubjectDiffers');
  });

  it('REC-05 ends sessions of a subject to which the record no longer belongs', async () => {
    const { cluster, provider, service } = party();
    const email = person('old');
    const { browser, handle } = await session(service);
    const subjects = [{ issuer: provider.issuer, sub: 'new' }];
    await cluster.kubernetes.call('PATCH', `${usersPath}/${recordName(email)}/status`, { status: { subjects } }, mergePatch);
    await eventually(
      () => browser.info('v2'),
      ({ status }) => status === 401,
    );
    expectStatus(await refresh(browser, handle), 401);
    person('new');
    expectOK((await logIn(service)).callback);
  });

  it('REC-05 is linked if it was created ahead and email is the name', async () => {
    const { provider, service } = party();
    const email = person('expected', { email_verified: undefined });
    await makeUser(party(), email);
    expectOK((await logIn(service)).callback);
    expect((await recordOf(party(), email))?.status.subjects).to.deep.equal([{ issuer: provider.issuer, sub: 'expected' }]);
  });

  it('S11 cleans a display name that the issuer tells, and refuses none', async () => {
    const email = person('shown', { name: '\u202eJane\u200b Doe\u2060' });
    const { callback } = await logIn(party().service);
    expectOK(callback);
    expect(userInfoOf(callback).ext.display_name).to.equal('Jane Doe');
    expect((await recordOf(party(), email))?.spec).to.have.property('username', 'Jane Doe');
  });

  it('REC-05 is not linked by a bearer token', async () => {
    const { provider, service } = party();
    const email = person('bearer-only');
    await makeUser(party(), email);
    expectOK(await new Browser(service.url).info('v2', provider.idToken()));
    expect((await recordOf(party(), email))?.status?.subjects).to.equal(undefined);
  });

  it('REC-07 stays with its user when the address of the issuer changes', async () => {
    const { cluster, provider, service } = party();
    const email = person('moved');
    const subjects = [{ issuer: 'https://issuer-of-last-year.example.com', sub: 'old-sub' }];
    await makeUser(party(), email);
    await cluster.kubernetes.call('PATCH', `${usersPath}/${recordName(email)}/status`, { status: { subjects } }, mergePatch);
    expectOK((await logIn(service)).callback);
    expect((await recordOf(party(), email))?.status.subjects).to.deep.equal([...subjects, { issuer: provider.issuer, sub: 'moved' }]);
  });
});

describe('a user record, where another claim than the email names people', () => {
  const claims = { username: 'preferred_username', usernamePrefix: '-' };
  const party = relyingParty({ config: { login: { ...unlimited, claims } } });

  const jane = { sub: 'jane-1', email: 'jane@corp.example', email_verified: true, preferred_username: 'jane', groups: [] };

  it('REC-05 is not found by an address that is not verified', async () => {
    const { provider, service } = party();
    provider.person = jane;
    expectOK((await logIn(service)).callback);
    // The controller writes conditions a moment after the login.
    const before = await eventually(
      () => recordOf(party(), jane.email),
      (record) => record?.status.conditions !== undefined,
    );
    for (const email_verified of [false, undefined, 'true']) {
      provider.person = { ...jane, sub: 'mallory-1', preferred_username: 'mallory', email_verified };
      const { callback } = await logIn(service);
      expectOK(callback);
      expect(userInfoOf(callback).ext.user).to.equal(recordName('mallory'));
    }
    // A verified address gives the account its record.
    provider.person = { ...jane, sub: 'mallory-1', preferred_username: 'mallory' };
    expect(userInfoOf((await logIn(service)).callback).ext.user).to.equal(recordName('mallory'));
    provider.person = { ...jane, sub: 'mallory-2', preferred_username: 'mallory-2' };
    expectStatus((await logIn(service)).callback, 401, 'SubjectDiffers');
    expect(await recordOf(party(), jane.email)).to.deep.equal(before);
  });

  it('REC-05 is not given to another user with the same name', async () => {
    const { provider, service } = party();
    provider.person = { sub: 'kim-1', preferred_username: 'kim', groups: [] };
    expectOK((await logIn(service)).callback);
    provider.person = { sub: 'kim-2', preferred_username: 'kim', groups: [] };
    expectStatus((await logIn(service)).callback, 401, 'SubjectDiffers');
  });

  it('REC-05 is not linked without a verified address, if it was made ahead', async () => {
    const { provider, service } = party();
    await makeUser(party(), 'sam');
    provider.person = { sub: 'sam-1', preferred_username: 'sam', groups: [] };
    expectStatus((await logIn(service)).callback, 401, 'SubjectDiffers');
    expect((await recordOf(party(), 'sam'))?.status?.subjects).to.equal(undefined);
  });

  it('is found by sub where the name could be an address', async () => {
    const { provider, service } = party();
    provider.person = { sub: 'ann-1', preferred_username: 'jane@corp.example', groups: [] };
    const { callback } = await logIn(service);
    expectOK(callback);
    expect(userInfoOf(callback).ext.user).to.equal(recordName('ann-1'));
  });
});
