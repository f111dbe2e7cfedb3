/** Links for a second factor that are valid once. The first issuer of these tests is at `localhost`, where browsers have passkeys. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Authenticator } from '../factors/authenticator.ts';
import { Desk, pathOf } from '../factors/desk.ts';
import { codeOf, codesIn, secretIn, wrongCodeOf } from '../factors/person.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { linksOf, Office, type Page, passwordForm, statusOf, visit } from './office.ts';

const password = 'correct horse';
const people = ['late', 'lost', 'key', 'race', 'void', 'guest', 'other', 'admin', 'helper', 'manager', 'chief', 'locked'] as const;
const [late, lost, key, race, voided, guest, other, admin, helper, manager, chief, locked] = people.map(
  (name) => `${name}@example.com`,
) as [string, string, string, string, string, string, string, string, string, string, string, string];

describe('one-time links for a second factor', () => {
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: people.map((name) => `${name}@example.com`),
      password,
      replicas: 2,
      host: 'localhost',
      login: {
        factors: {
          default: 'optional',
          rules: [
            { group: 'admins', factors: 'required' },
            { group: 'guests', factors: 'off' },
          ],
        },
      },
    }),
  );
  const office = forSuite(
    () => Office.open(service, manager, password),
    () => undefined,
  );
  const enrol = { kind: 'enrol' };
  const hidden = ({ body }: Page) =>
    Object.fromEntries(
      [...body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name = '', value = '']) => [name, value]),
    );
  const begin = (link: string, given = password, at?: string) => visit(service, link, { password: given }, at);
  const asVisit = (page: Page) => ({ body: page.body }) as Parameters<typeof secretIn>[0];
  const confirm = (link: string, page: Page, code = codeOf(secretIn(asVisit(page))), at?: string) =>
    visit(service, link, { ...hidden(page), code }, at);
  /** @returns the heading of the page after the password */
  const afterPassword = async (email: string, given = password) => {
    const { refusal, back } = await service.authorize(email, given);
    return back.searchParams.has('code') ? 'in' : refusal;
  };
  const patch = (email: string, part: 'status' | 'spec', value: object) =>
    service.admin.call(
      'PATCH',
      `/apis/auth.platform.io/v1/users/${nameOf(email)}${part === 'status' ? '/status' : ''}`,
      { [part]: value },
      { 'content-type': 'application/merge-patch+json' },
    );
  const typesOf = async (email: string): Promise<string[]> => {
    const { body } = await office.call('GET', pathOf(email));
    return (body as { items: { type: string }[] }).items.map(({ type }) => type).sort();
  };

  before(async () => {
    const rights = [
      { apiGroups: ['auth.platform.io'], resources: ['users/links', 'users/password'], verbs: ['create', 'delete', 'update'] },
    ];
    await service.admin.apply(
      clusterRoleBinding('chief-views', 'view', { kind: 'User', name: chief }),
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'makes-links' }, rules: rights },
      clusterRoleBinding('helper-makes-links', 'makes-links', { kind: 'User', name: helper }),
      { ...aUser('ldap@example.com'), spec: { ...Object(aUser('ldap@example.com').spec), connector_type: 'oidc', connector_id: 'x' } },
    );
    await patch(late, 'status', { groups: ['admins'], factorsDueTime: new Date(Date.now() - 1000).toISOString() });
    await patch(guest, 'status', { groups: ['guests'] });
  });

  it('MFA-09 let a user set one up whose time is over, with the password', async () => {
    expect(
      await eventually(
        () => afterPassword(late),
        (refusal) => refusal === 403,
      ),
    ).to.equal(403);
    const link = await office.makeLink(late, enrol);
    const page = await visit(service, link);
    expect([page.status, page.heading]).to.deep.equal([200, 'Set up a second factor']);
    expect(page.body).to.contain(late).and.not.to.contain('class="key"');

    const setUp = await begin(link);
    expect(setUp.status).to.equal(200);
    expect(setUp.body).to.contain('class="key"').and.not.to.contain('name="later"');
    expect((await confirm(link, setUp, wrongCodeOf(secretIn(asVisit(setUp))))).status).to.equal(422);
    const done = await confirm(link, setUp);
    expect(done.status, done.body).to.equal(200);
    expect(codesIn(asVisit(done))).to.have.length(10);
    expect(done.headers.get('set-cookie')).to.equal(null);

    expect(await typesOf(late)).to.deep.equal(['RecoveryCodes', 'TOTP']);
    expect(await statusOf(service, late)).not.to.have.property('factorsDueTime');
    // The new factor is required.
    expect(await afterPassword(late)).to.equal(200);
    const heard = service.lines.filter((line) => line.includes(nameOf(late))).join('\n');
    for (const audit of ['LinkMade', 'LinkUsed', 'FactorAdded']) expect(heard).to.contain(`"${audit}"`);
  });

  it('MFA-05 set up nothing without the password, nor with the proof of another visit', async () => {
    const link = await office.makeLink(other, enrol);
    for (const fields of [
      {},
      { password: 'wrong horse' },
      { code: '123456' },
      { proof: 'made.up', code: '123456' },
      { instead: 'passkey' },
    ]) {
      const page = await visit(service, link, fields as Record<string, string>);
      expect(page.status, JSON.stringify(fields)).to.equal(403);
      expect(page.body).to.contain('role="alert"').and.not.to.contain('class="key"');
    }
    await patch(other, 'status', { failedLogins: null, failedLoginsSince: null, lockedUntil: null });
    const second = await office.makeLink(other, enrol);
    const ofSecond = await begin(second);
    expect((await confirm(link, ofSecond)).status).to.equal(403);
    // A proof from a link is not valid at the login page.
    const { browser, back } = await service.authorize(other, 'no horse at all');
    const { response } = await browser.submit({ url: back, body: '' } as Parameters<typeof browser.submit>[0], {
      ...hidden(ofSecond),
      later: 'yes',
    });
    expect(response.status).to.equal(400);
    expect(await typesOf(other)).to.deep.equal([]);
    expect(await afterPassword(other)).to.equal('in');
  });

  it('MFA-06 count a wrong password as at a login', async () => {
    const link = await office.makeLink(locked, enrol);
    for (let wrong = 0; wrong < 5; wrong += 1) expect((await begin(link, 'wrong horse')).status).to.equal(403);
    expect(await statusOf(service, locked)).to.have.property('lockedUntil');
    expect((await begin(link)).status).to.equal(403);
  });

  it('REC2-05 replace lost factors by the new one, and end sessions and older links', async () => {
    const desk = await Desk.of(service, lost);
    await desk.enrol();
    const [oldCodes, oldSecret] = [desk.codes, desk.secret];
    const older = await office.makeLink(lost);
    const link = await office.makeLink(lost, enrol);
    const page = await begin(link);
    const passkeyPage = await visit(service, link, { ...hidden(page), instead: 'passkey' });
    const authenticator = new Authenticator(service.url);
    const assertion = authenticator.create(asVisit(passkeyPage));
    // Reading the page, and a form without a passkey, do not use the link.
    expect((await visit(service, link)).status).to.equal(200);
    expect((await visit(service, link, { ...hidden(passkeyPage), assertion: '' })).status).to.equal(422);
    expect((await desk.call('GET', '/auth/v1/me')).status).to.equal(200);

    const done = await visit(service, link, { ...hidden(passkeyPage), assertion, name: 'new phone' });

    expect(done.status, done.body).to.equal(200);
    expect(await typesOf(lost)).to.deep.equal(['Passkey', 'RecoveryCodes']);
    expect((await desk.call('GET', '/auth/v1/me')).status).to.equal(401);
    expect((await visit(service, older)).status).to.equal(410);
    const browser = desk.browser;
    const { auth_url } = JSON.parse((await browser.get(`${service.url}/api/v2/token/login?token_storage=cookie`)).body);
    for (const code of [oldCodes[0] ?? '', codeOf(oldSecret, 1)]) {
      const second = await browser.submit(await browser.get(auth_url), { email: lost, password });
      expect((await browser.submit(second, { code })).response.status).to.equal(403);
    }
    const second = await browser.submit(await browser.get(auth_url), { email: lost, password });
    const { url } = await browser.submit(second, { code: codesIn(asVisit(done))[0] ?? '' });
    expect(url.searchParams.has('code')).to.equal(true);
  });

  it('REC2-02 count once, also when two factors come at the same moment on two replicas', async () => {
    const link = await office.makeLink(race, enrol);
    const pages = await Promise.all([0, 1, 2, 3].map((index) => begin(link, password, service.urls[index % 2])));
    const answers = await Promise.all(pages.map((page, index) => confirm(link, page, undefined, service.urls[index % 2])));

    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 410, 410, 410]);
    const winner = pages[answers.findIndex(({ status }) => status === 200)] as Page;
    expect(await typesOf(race)).to.deep.equal(['RecoveryCodes', 'TOTP']);
    for (const fields of [undefined, { password }, { ...hidden(winner), code: codeOf(secretIn(asVisit(winner)), 1) }])
      expect((await visit(service, link, fields)).status).to.equal(410);
  });

  it('REC2-02 end with a change of the password, when they are taken back, and with a use of another', async () => {
    const taken = await office.makeLink(voided, enrol);
    const begun = await begin(taken);
    expect((await office.call('DELETE', linksOf(voided))).status).to.equal(204);
    expect((await confirm(taken, begun)).status).to.equal(410);
    const open = await office.makeLink(voided, enrol);
    const page = await begin(open);
    expect((await visit(service, await office.makeLink(voided), passwordForm('quite another staple'))).status).to.equal(200);
    expect((await confirm(open, page)).status).to.equal(410);
    const disabled = await office.makeLink(voided, enrol);
    const last = await begin(disabled, 'quite another staple');
    await patch(voided, 'spec', { is_disabled: true });
    expect((await confirm(disabled, last)).status).to.equal(410);
    expect(await typesOf(voided)).to.deep.equal([]);
  });

  it('REC2-06 are created only by callers who may reset factors, and for users who can set one up', async () => {
    const maker = await Office.open(service, admin, password);
    expect((await maker.call('POST', linksOf(chief), enrol)).status).to.equal(403);
    expect((await maker.call('POST', linksOf(admin), enrol)).status).to.equal(403);
    const { status } = await service.logIn(helper, password);
    expect(status).to.equal(200);
    const desk = await Desk.of(service, helper);
    expect((await desk.call('POST', linksOf(key), { kind: 'password' })).status).to.equal(201);
    expect((await desk.call('POST', linksOf(key), enrol)).status).to.equal(403);

    // The group is known a moment later.
    const refused = await eventually(
      () => office.call('POST', linksOf(guest), enrol),
      (answer) => answer.status === 409,
    );
    expect(refused.status).to.equal(409);
    expect((await office.call('POST', linksOf('ldap@example.com'), enrol)).status).to.equal(409);
    expect((await office.call('POST', linksOf(key), { ...enrol, seconds: 1801 })).status).to.equal(422);
    const link = await office.makeLink(key, enrol);
    await patch(key, 'status', { groups: ['guests'] });
    const { status: closed } = await eventually(
      () => visit(service, link),
      (page) => page.status === 410,
    );
    expect(closed).to.equal(410);
  });

  it('REC2-08 are missing from the log', async () => {
    const link = await office.makeLink(other, enrol);
    await visit(service, link);
    const token = new URL(link).pathname.split('/').at(-1) ?? '';
    expect(service.lines.join('\n')).not.to.contain(token);
  });
});
