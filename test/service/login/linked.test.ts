import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { aBinding } from '../bindings/support.ts';
import type { Browser } from '../identity/browser.ts';
import { nameOf } from '../users/a-user.ts';
import { atCorp, beginLink, linkedUser, linksOf, reasonOf, recordOf, send, tokenIn } from './linking.ts';
import { TwoIssuers } from './two-issuers.ts';

const people = ['ada', 'bea', 'cora', 'dora', 'emma', 'flora', 'gina', 'hanna', 'ines', 'judy', 'kora', 'mona', 'nora', 'olga'] as const;
const emailOf = (name: string) => `${name}@example.com`;
const users = '/apis/auth.platform.io/v1/users';

/** docs/contract/login.md */
describe('an account of another issuer that a user links', () => {
  const login = { factors: { rules: [{ group: 'strong', factors: 'required' }] } };
  const two = forSuite(() => TwoIssuers.start({ acr: { 'urn:atrium:acr:2': 'gold' } }, { emails: people.map(emailOf), login }));

  const link = (name: (typeof people)[number], groups?: readonly string[]) => {
    two.corp.person = atCorp(name, groups);
    return linkedUser(two, emailOf(name));
  };
  /** Each with a login of its own. */
  const write = (name: string, change: object) =>
    two.service.admin.call('PATCH', `${users}/${nameOf(emailOf(name))}`, change, {
      'content-type': 'application/merge-patch+json',
    });

  beforeEach(() => {
    two.behave();
    two.corp.forgetRequests();
  });

  it('leads to the record of the user, whose name, groups and source stay', async () => {
    const before = await recordOf(two, nameOf(emailOf('ada')));
    two.corp.person = atCorp('ada');
    const { browser } = await two.logInHere('cookie', '&issuer=local', emailOf('ada'));
    const begun = await beginLink(two, browser);
    expect(begun.status, begun.text).to.equal(200);
    expect(new URL(begun.address).searchParams.get('prompt')).to.equal('login');
    const linked = await two.callback(browser, begun.answer);
    expect(linked.status, linked.text).to.equal(200);
    expect(linked.body).to.deep.include({ name: emailOf('ada') });
    expect((linked.body as { ext: object }).ext).to.include({ return_to: '/links', token_storage: 'cookie' });

    const there = await two.logInAtCorp();
    expect(there.status, there.text).to.equal(200);
    expect(there.body).to.deep.include({ name: 'corp:ada@corp.example', groups: ['corp:dev'] });
    expect((there.body as { ext: object }).ext).to.include({ user: nameOf(emailOf('ada')) });
    const { spec, status } = await recordOf(two, nameOf(emailOf('ada')));
    expect(spec).to.deep.equal(before.spec);
    expect(status).to.deep.include({ subjectName: emailOf('ada'), groups: ['dev'] });
    const [entry, ...others] = status.subjects as Record<string, unknown>[];
    expect(others).to.deep.equal([]);
    const wanted = { issuer: two.corp.issuer, sub: 'ada-1', subjectName: 'corp:ada@corp.example', groups: ['dev'] };
    expect(entry).to.deep.include(wanted);
    expect((await two.service.admin.call('GET', `${users}/${nameOf('ada@corp.example')}`)).status).to.equal(404);
    for (const one of [browser, there.browser])
      expect((await send(two, one, 'GET', '/auth/v1/me')).text).to.include(`"name":"${nameOf(emailOf('ada'))}"`);
  });

  it('is listed with its issuer and time, after the one that names the user', async () => {
    const before = await send(two, (await two.logInHere('cookie', '&issuer=local', emailOf('bea'))).browser, 'GET', '/auth/v1/links');
    expect(before.body).to.deep.include({ linkable: [{ id: 'corp', name: 'Corp' }] });
    const browser = await link('bea');
    expect((await send(two, browser, 'GET', '/auth/v1/links')).body).to.deep.include({ linkable: [] });
    const [first, second] = await linksOf(two, browser);
    expect(first).to.deep.include({ issuer: 'local', name: 'Local users', subjectName: emailOf('bea'), isFirst: true });
    expect(second).to.deep.include({ issuer: 'corp', name: 'Corp', subjectName: 'corp:bea@corp.example', isFirst: false });
    expect(Date.now() - Date.parse(second?.linkedTime ?? '')).to.be.within(-2_000, 60_000);
    expect(first).not.to.have.property('linkedTime');
  });

  it('is bound with the user', async () => {
    await link('cora');
    const subjects = [{ kind: 'User', name: nameOf(emailOf('cora')) }];
    await two.service.admin.apply(aBinding('of-cora', { subjects }));
    const made = async () =>
      JSON.stringify((await two.service.admin.call('GET', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings')).body);
    await eventually(made, (text) => text.includes(`"name":"${emailOf('cora')}"`) && text.includes('"name":"corp:cora@corp.example"'));
    const { browser } = await two.logInAtCorp();
    // The service hears of the second binding a moment after the cluster has it.
    const { items } = await eventually(
      async () =>
        (await send(two, browser, 'GET', `/auth/v1/usersroles?name=${nameOf(emailOf('cora'))}`)).body as { items: { subject: string }[] },
      (roles) => roles.items.length >= 2,
    );
    expect(items.map(({ subject }) => subject).sort()).to.deep.equal([emailOf('cora'), 'corp:cora@corp.example'].sort());
  });

  it('I3 shows the roles of the name that acts, and of all names where the user is named', async () => {
    await link('olga');
    const named = (name: string) => clusterRoleBinding(`view-${name.replaceAll(/[^a-z]/g, '-')}`, 'view', { kind: 'User', name });
    await two.service.admin.apply(named(emailOf('olga')), named('corp:olga@corp.example'));
    const { browser } = await two.logInAtCorp();
    const subjectsOf = async (query: string) => {
      const { items } = (await send(two, browser, 'GET', `/auth/v1/usersroles${query}`)).body as { items: { subject: string }[] };
      return items.map(({ subject }) => subject).sort();
    };
    const all = await eventually(
      () => subjectsOf(`?name=${nameOf(emailOf('olga'))}`),
      ({ length }) => length === 2,
    );
    expect(all).to.deep.equal(['corp:olga@corp.example', emailOf('olga')]);

    expect(await subjectsOf('')).to.deep.equal(['corp:olga@corp.example']);
  });

  it('I2 says that second factors are for a login at the embedded issuer alone', async () => {
    const own = await link('mona');
    const linked = await two.logInAtCorp();
    const isChangeable = async (browser: Browser) =>
      ((await send(two, browser, 'GET', `/auth/v1/users/${nameOf(emailOf('mona'))}/factors`)).body as { isChangeable: boolean })
        .isChangeable;

    expect(await isChangeable(own)).to.equal(true);
    expect(await isChangeable(linked.browser)).to.equal(false);
  });

  it('S12 is bound by a rule that requires a second factor of the user', async () => {
    await link('nora');
    const path = `${users}/${nameOf(emailOf('nora'))}/status`;
    const inGroups = (groups: string[]) =>
      two.service.admin.call('PATCH', path, { status: { groups } }, { 'content-type': 'application/merge-patch+json' });
    expect((await two.logInAtCorp()).status).to.equal(200);
    await inGroups(['dev', 'strong']);

    const refused = await eventually(
      () => two.logInAtCorp(),
      ({ status }) => status === 401,
    );

    expect(reasonOf(refused)).to.equal('FactorRequired');
    const bearer = await two.withBearer(two.corp.idToken());
    expect(bearer.status).to.equal(401);
    expect(reasonOf(bearer)).to.equal('FactorRequired');
    for (const acr of ['gold', 'phr']) {
      two.behave({ idToken: { claims: { acr } } });
      expect((await two.logInAtCorp()).status, acr).to.equal(200);
    }
    expect((await two.withBearer(two.corp.idToken({ claims: { acr: 'gold' } }))).status).to.equal(200);
    two.behave();
    await inGroups(['dev']);
    await eventually(
      () => two.logInAtCorp(),
      ({ status }) => status === 200,
    );
  });

  it('is disabled with the user', async () => {
    await link('dora');
    const there = await two.logInAtCorp();
    const kept = await two.logInAtCorp({ storage: 'local' });
    const { access_token: bearer = '' } = tokenIn(kept.body);
    expect((await two.withBearer(bearer)).status).to.equal(200);
    await write('dora', { spec: { is_disabled: true, state: 'inactive' } });
    await eventually(
      async () => (await two.get(there.browser, '/api/v2/token/info')).status,
      (status) => status === 401,
    );
    expect((await two.withBearer(bearer)).text).to.include('AccountDisabled');
    const refused = await two.logInAtCorp();
    expect(`${refused.status} ${reasonOf(refused)}`).to.equal('401 AccountDisabled');
  });

  it('is taken away by the user, which ends all that it opened and nothing else', async () => {
    const browser = await link('emma');
    const there = await two.logInAtCorp();
    const kept = await two.logInAtCorp({ storage: 'local' });
    const { access_token: bearer = '', refresh_token: seal = '' } = tokenIn(kept.body);
    const [first, second] = await linksOf(two, browser);
    two.corp.forgetRequests();
    const last = await send(two, browser, 'DELETE', `/auth/v1/links/${first?.id}`);
    expect(last.status, last.text).to.equal(409);
    const unlinked = await send(two, browser, 'DELETE', `/auth/v1/links/${second?.id}`);
    expect(unlinked.status, unlinked.text).to.equal(204);

    expect(two.corp.revocationsOf('emma-1')).to.have.length(1);
    expect((await two.get(there.browser, '/api/v2/token/info')).status).to.equal(401);
    expect((await two.withBearer(bearer)).text).to.include('TokenRevoked');
    expect((await two.get(kept.browser, `/api/v2/token/refresh?refresh_token=${seal}`)).status).to.equal(401);
    expect((await two.get(browser, '/api/v2/token/info')).status).to.equal(200);
    expect((await recordOf(two, nameOf(emailOf('emma')))).status).not.to.have.property('subjects');
    expect((await send(two, browser, 'DELETE', `/auth/v1/links/${second?.id}`)).status).to.equal(404);
    const again = await two.logInAtCorp();
    expect((again.body as { ext: object }).ext).to.include({ user: nameOf('emma@corp.example') });
  });

  it('is told in the audit trail, as Events and at the next login', async () => {
    const browser = await link('flora');
    const [, second] = await linksOf(two, browser);
    expect((await send(two, browser, 'DELETE', `/auth/v1/links/${second?.id}`)).status).to.equal(204);
    const told = (audit: string) =>
      two.service.lines.some((line) => line.includes(`"audit":"${audit}"`) && line.includes(nameOf(emailOf('flora'))));
    expect([told('SubjectLinked'), told('SubjectUnlinked')]).to.deep.equal([true, true]);
    const events = async () => JSON.stringify((await two.service.admin.call('GET', '/api/v1/namespaces/default/events')).body);
    await eventually(events, (text) => text.includes('"reason":"SubjectLinked"') && text.includes('"reason":"SubjectUnlinked"'));
    const { notices = [] } = (await recordOf(two, nameOf(emailOf('flora')))).status as { notices?: { type: string }[] };
    expect(notices.map(({ type }) => type)).to.deep.equal(['AccountLinked', 'AccountUnlinked']);
  });

  it('is worth no more than itself: it links, mints and removes nothing', async () => {
    await link('gina');
    const { browser } = await two.logInAtCorp();
    for (const [method, path, body] of [
      ['POST', '/auth/v1/links', { issuer: 'corp' }],
      ['POST', '/auth/v1/accesstoken', { description: 'ci' }],
      ['DELETE', `/auth/v1/users/${nameOf(emailOf('gina'))}/factors/t-${'0'.repeat(64)}`, undefined],
    ] as const) {
      const refused = await send(two, browser, method, path, body);
      expect(refused.status, `${path} ${refused.text}`).to.equal(403);
    }
  });

  it('goes when an administrator has the record forget its accounts', async () => {
    await link('hanna');
    const kept = await two.logInAtCorp({ storage: 'local' });
    const { access_token: bearer = '' } = tokenIn(kept.body);
    const token = await two.service.admin.serviceToken();
    const path = `/auth/v1/users/${nameOf(emailOf('hanna'))}/subjects`;
    const refused = await two.service.request(path, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } });
    expect(refused.status).to.equal(403);
    const chief = await two.service.cluster.token('admin');
    const forgotten = await two.service.request(path, { method: 'DELETE', headers: { authorization: `Bearer ${chief}` } });
    expect(forgotten.status, await forgotten.text()).to.equal(204);
    expect((await two.withBearer(bearer)).status).to.equal(401);
    expect((await recordOf(two, nameOf(emailOf('hanna')))).status).not.to.have.property('subjects');
  });

  it('ends with the record', async () => {
    const browser = await link('ines');
    const kept = await two.logInAtCorp({ storage: 'local' });
    const { access_token: bearer = '' } = tokenIn(kept.body);
    await two.service.admin.remove(`${users}/${nameOf(emailOf('ines'))}`);
    await eventually(
      async () => (await two.withBearer(bearer)).status,
      (status) => status === 401,
    );
    expect((await two.get(browser, '/api/v2/token/info')).status).to.equal(401);
  });

  it('keeps its name from another person of the issuer who is given the address', async () => {
    await link('judy');
    two.corp.person = { ...atCorp('judy'), sub: 'judy-2' };
    const refused = await two.logInAtCorp();
    expect(`${refused.status} ${reasonOf(refused)}`).to.equal('401 SubjectDiffers');
    expect((await two.withBearer(two.corp.idToken())).text).to.include('SubjectDiffers');
    expect((await two.service.admin.call('GET', `${users}/${nameOf('judy@corp.example')}`)).status).to.equal(404);
  });

  it('follows a new name that its issuer gives to the person', async () => {
    const browser = await link('kora');
    two.corp.person = { ...atCorp('kora', ['ops']), email: 'kora.new@corp.example' };
    const there = await two.logInAtCorp();
    expect(there.body).to.deep.include({ name: 'corp:kora.new@corp.example' });
    const [, second] = await linksOf(two, browser);
    expect(second).to.include({ subjectName: 'corp:kora.new@corp.example' });
    const { status } = await recordOf(two, nameOf(emailOf('kora')));
    expect(status.subjects).to.have.nested.property('[0].groups').that.deep.equals(['ops']);
  });

  it('stays one of its issuer when an administrator has the record forget it, and is linked again by the next login', async () => {
    two.corp.person = atCorp('lena');
    expect((await two.logInAtCorp()).status).to.equal(200);
    const name = nameOf('lena@corp.example');
    const headers = { authorization: `Bearer ${await two.service.cluster.token('admin')}` };
    const forgotten = await two.service.request(`/auth/v1/users/${name}/subjects`, { method: 'DELETE', headers });
    expect(forgotten.status, await forgotten.text()).to.equal(204);
    const again = await two.service.request(`/auth/v1/users/${name}/subjects`, { method: 'DELETE', headers });
    expect(again.status).to.equal(404);
    two.corp.person = { ...atCorp('lena'), sub: 'lena-2' };
    const there = await two.logInAtCorp();
    expect(there.status, there.text).to.equal(200);
    expect(there.body).to.deep.include({ name: 'corp:lena@corp.example', groups: ['corp:dev'] });
    const { subjects } = (await recordOf(two, name)).status;
    expect(subjects).to.deep.equal([{ issuer: two.corp.issuer, sub: 'lena-2' }]);
    two.corp.person = atCorp('lena');
    expect(reasonOf(await two.logInAtCorp())).to.equal('SubjectDiffers');
  });
});
