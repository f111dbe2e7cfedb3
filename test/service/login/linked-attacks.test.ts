import { expect } from 'chai';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { addLocalUser } from '../../support/local-user.ts';
import type { Browser } from '../identity/browser.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { atCorp, beginLink, copyOf, linkedUser, linksOf, reasonOf, recordOf, send, tokenIn } from './linking.ts';
import { authorize } from './provider/browser.ts';
import { Clock } from './support.ts';
import { TwoIssuers } from './two-issuers.ts';

const people = ['ada', 'bea', 'cora', 'dora', 'emma', 'flora', 'gina', 'ines', 'mallory'] as const;
const emailOf = (name: string) => `${name}@example.com`;

describe('the linking of accounts under attack', () => {
  const two = forSuite(() => TwoIssuers.start({}, { emails: people.map(emailOf) }));

  const here = (name: string, storage: 'cookie' | 'local' = 'cookie') => two.logInHere(storage, '&issuer=local', emailOf(name));
  const subjectsOf = async (name: string) => (await recordOf(two, nameOf(emailOf(name)))).status.subjects;

  beforeEach(() => {
    two.behave();
    two.corp.forgetRequests();
  });

  it('ISS-02 links no account that is a user already, and merges nothing', async () => {
    two.corp.person = atCorp('kim');
    const kim = await two.logInAtCorp();
    expect(kim.status, kim.text).to.equal(200);
    const { browser } = await here('ada');
    const { answer } = await beginLink(two, browser);
    const refused = await two.callback(browser, answer);
    expect(`${refused.status} ${reasonOf(refused)}`).to.equal('401 SubjectDiffers');
    expect(await subjectsOf('ada')).to.equal(undefined);
    expect(await linksOf(two, browser)).to.have.length(1);
    for (const one of [browser, kim.browser]) expect((await two.get(one, '/api/v2/token/info')).status).to.equal(200);
  });

  it('ISS-02 links no account that another user has linked', async () => {
    two.corp.person = atCorp('bea');
    await linkedUser(two, emailOf('bea'));
    const { browser } = await here('ada');
    const { answer } = await beginLink(two, browser);
    expect(reasonOf(await two.callback(browser, answer))).to.equal('SubjectDiffers');
    expect(await subjectsOf('ada')).to.equal(undefined);
    expect((await two.get(browser, '/api/v2/token/info')).status).to.equal(200);
    expect((await two.logInAtCorp()).body).to.have.nested.property('ext.user', nameOf(emailOf('bea')));
  });

  it('ISS-02 links no account that claims the address of another user', async () => {
    two.corp.person = { ...atCorp('cora'), email: emailOf('cora') };
    const { browser } = await here('ada');
    const { answer } = await beginLink(two, browser);
    expect(reasonOf(await two.callback(browser, answer))).to.equal('SubjectDiffers');
    expect(await subjectsOf('ada')).to.equal(undefined);
    expect(await subjectsOf('cora')).to.equal(undefined);
  });

  it('ISS-03 ends the sessions, refresh tokens and bearer tokens from before, and shows each link', async () => {
    const attacker = await here('dora');
    const kept = await here('dora', 'local');
    const { access_token: bearer = '', refresh_token: seal = '' } = tokenIn(kept.body);
    two.corp.person = atCorp('dora');
    const early = two.corp.idToken();
    const { browser } = await here('dora');
    const thief = copyOf(two, browser);
    const { answer } = await beginLink(two, browser);
    expect((await two.callback(browser, answer)).status).to.equal(200);

    for (const one of [attacker.browser, thief]) expect((await two.get(one, '/api/v2/token/info')).status).to.equal(401);
    expect((await two.withBearer(bearer)).text).to.include('TokenRevoked');
    expect((await two.withBearer(early)).text).to.include('TokenRevoked');
    expect((await two.get(kept.browser, `/api/v2/token/refresh?refresh_token=${seal}`)).status).to.equal(401);
    const names = (await linksOf(two, browser)).map(({ subjectName }) => subjectName);
    expect(names).to.deep.equal([emailOf('dora'), 'corp:dora@corp.example']);
    expect(await linksOf(two, (await two.logInAtCorp()).browser)).to.have.length(2);
  });

  it('ISS-04 links nothing by the code and state of another browser', async () => {
    two.corp.person = atCorp('mallory');
    const mallory = await here('mallory');
    const { answer } = await beginLink(two, mallory.browser);
    const victim = await here('emma');
    const forced = await two.callback(victim.browser, answer);
    expect(forced.status, forced.text).to.equal(400);
    expect(forced.text).to.include('"field":"state"');
    expect(two.corp.hits('token')).to.equal(0);
    for (const name of ['emma', 'mallory']) expect(await subjectsOf(name)).to.equal(undefined);
  });

  it('ISS-04 links nothing by a foreign code in the flow of the victim', async () => {
    two.corp.person = atCorp('mallory');
    const mallory = await here('mallory');
    const foreign = await beginLink(two, mallory.browser);
    const victim = await here('emma');
    const { body } = await send(two, victim.browser, 'POST', '/auth/v1/links', { issuer: 'corp' });
    foreign.answer.set('state', (body as { state: string }).state);
    expect((await two.callback(victim.browser, foreign.answer)).status).to.equal(401);
    expect(await subjectsOf('emma')).to.equal(undefined);
    expect((await two.get(victim.browser, '/api/v2/token/info')).status).to.equal(200);
  });

  it('ISS-04 links nothing in another session, without one, or twice', async () => {
    two.corp.person = atCorp('emma');
    const { browser } = await here('emma');
    const begun = await beginLink(two, browser);
    const flows = browser.cookies.filter(({ name }) => name.includes('flow'));
    const withFlow = (other: Browser) => {
      for (const { name, value } of flows) other.keep(`${name}=${value}; Path=/`);
      return other;
    };
    const stranger = withFlow(two.newBrowser());
    const second = withFlow((await here('emma')).browser);
    const other = withFlow((await here('mallory')).browser);
    for (const one of [stranger, second, other]) {
      const refused = await two.callback(one, begun.answer);
      expect(refused.status, refused.text).to.equal(400);
    }
    expect(two.corp.hits('token')).to.equal(0);
    expect(await subjectsOf('emma')).to.equal(undefined);
    expect(await subjectsOf('mallory')).to.equal(undefined);
    const before = copyOf(two, browser);
    expect((await two.callback(browser, begun.answer)).status).to.equal(200);
    expect((await two.callback(before, begun.answer)).status).to.equal(400);
    expect((await send(two, browser, 'POST', '/auth/v1/links', { issuer: 'corp' })).status).to.equal(409);
  });

  it('ISS-04 asks the issuer for a new login, and refuses one that reports an earlier time', async () => {
    two.corp.person = atCorp('flora');
    two.behave({ idToken: { claims: { auth_time: Math.floor(Date.now() / 1000) - 3_600 } } });
    const { browser } = await here('flora');
    const { answer } = await beginLink(two, browser);
    const refused = await two.callback(browser, answer);
    expect(`${refused.status} ${reasonOf(refused)}`).to.equal('401 StepUpNotMet');
    expect(await subjectsOf('flora')).to.equal(undefined);
  });

  it('REC-01 resets no password of a user who has rights by a linked account alone', async () => {
    two.corp.person = atCorp('gina', ['ops']);
    const browser = await linkedUser(two, emailOf('gina'));
    const { admin, cluster } = two.service;
    await grant(admin, 'manager', 'atrium-users-admin');
    const token = await cluster.token('manager');
    const reset = async () => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' };
      const body = JSON.stringify({ spec: { password: 'a fresh and long password' } });
      return two.service.request(`/auth/v1/users/${nameOf(emailOf('gina'))}`, { method: 'PATCH', headers, body });
    };
    for (const subject of [
      { kind: 'User', name: 'corp:gina@corp.example' },
      { kind: 'Group', name: 'corp:ops' },
    ]) {
      const binding = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'of-gina' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
      };
      await admin.apply(binding);
      // The roles and the check of privileged names come from the same watch.
      await eventually(
        async () => (await send(two, browser, 'GET', `/auth/v1/usersroles?name=${nameOf(emailOf('gina'))}`)).text,
        (roles) => roles.includes(`"subject":"${subject.name}"`),
      );
      expect((await reset()).status, subject.kind).to.equal(403);
      await admin.remove('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/of-gina');
    }
    const status = await eventually(
      async () => (await reset()).status,
      (seen) => seen === 200,
    );
    expect(status).to.equal(200);
  });

  it('is refused to administrators', async () => {
    const chief = aUser(emailOf('chief'), { is_admin: true });
    await addLocalUser(two.service.admin, chief, await cheapPasswords().hash('correct horse battery staple'));
    const { browser, status, text } = await here('chief');
    expect(status, text).to.equal(200);
    const refused = await send(two, browser, 'POST', '/auth/v1/links', { issuer: 'corp' });
    expect(`${refused.status} ${reasonOf(refused)}`).to.equal('403 AdministratorIsLocal');
  });

  it('requires a session of the user, and an issuer that can be linked', async () => {
    const { browser } = await here('ines');
    for (const issuer of ['local', 'other', '']) {
      const refused = await send(two, browser, 'POST', '/auth/v1/links', { issuer });
      expect(refused.status, refused.text).to.equal(422);
      expect(refused.text).to.include('"field":"issuer"');
    }
    expect((await send(two, browser, 'POST', '/auth/v1/links', { issuer: 'corp', sub: 'x' })).status).to.equal(400);
    expect((await send(two, browser, 'POST', '/auth/v1/links', { issuer: 'corp', return_to: '//evil.example' })).status).to.equal(400);
    const { access_token: bearer = '' } = tokenIn((await here('ines', 'local')).body);
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
    const post = { method: 'POST', headers, body: JSON.stringify({ issuer: 'corp' }) };
    expect(await (await two.service.request('/auth/v1/links', post)).text()).to.include('SessionRequired');
    expect((await two.service.request('/auth/v1/links')).status).to.equal(401);
    expect((await send(two, two.newBrowser(), 'POST', '/auth/v1/links', { issuer: 'corp' })).status).to.equal(401);
    expect((await send(two, browser, 'DELETE', '/auth/v1/links/of-another')).status).to.equal(404);
    two.corp.person = atCorp('ines');
    const corp = await authorize((await beginLink(two, browser)).address);
    expect(corp.has('code')).to.equal(true);
  });
});

describe('linking of accounts with a login that is not recent', () => {
  const clock = new Clock();
  const two = forSuite(() => TwoIssuers.start({}, { emails: [emailOf('ada')], login: { stepUp: { maxAge: '5m' } }, now: clock.now }));

  it('MFA-08 requires a recent login to link and to unlink', async () => {
    two.corp.person = atCorp('ada');
    const browser = await linkedUser(two, emailOf('ada'));
    const [, second] = await linksOf(two, browser);
    clock.advance(301);
    for (const refused of [
      await send(two, browser, 'POST', '/auth/v1/links', { issuer: 'corp' }),
      await send(two, browser, 'DELETE', `/auth/v1/links/${second?.id}`),
    ]) {
      expect(`${refused.status} ${reasonOf(refused)}`).to.equal('401 StepUpRequired');
      expect(refused.headers.get('www-authenticate')).to.include('insufficient_user_authentication');
    }
    expect(await linksOf(two, browser)).to.have.length(2);
  });
});
