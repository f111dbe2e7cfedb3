import { expect } from 'chai';
import { z } from 'zod';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { linksOf, Office, passwordForm, statusOf, visit } from './office.ts';

const mergePatch = { 'content-type': 'application/merge-patch+json' };
const password = 'correct horse';
const fresh = 'quite another staple';
const [jane, joe, ann, manager, chief, ben] = ['jane', 'joe', 'ann', 'manager', 'chief', 'ben'].map((name) => `${name}@example.com`) as [
  string,
  string,
  string,
  string,
  string,
  string,
];
const tokens = z.object({ ext: z.object({ token: z.object({ access_token: z.string(), refresh_token: z.string() }) }) });
const causes = z.object({ details: z.object({ causes: z.array(z.object({ field: z.string() })) }) });

describe('one-time links that an administrator makes', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [jane, joe, ann, manager, chief, ben], password, replicas: 2 }));
  const office = forSuite(
    () => Office.open(service, manager, password),
    () => undefined,
  );
  const counts = async (email: string, given: string) => (await service.logIn(email, given)).status === 200;

  before(async () => {
    const ldap = aUser('ldap@example.com');
    await service.admin.apply(
      clusterRoleBinding('chief-views', 'view', { kind: 'User', name: chief }),
      { ...ldap, spec: { ...Object(ldap.spec), connector_type: 'ldap', connector_id: 'ldap' } },
      aUser('new@example.com'),
      aUser('off@example.com', { is_disabled: true }),
    );
  });

  it('REC2-05 set a password once, and end the sessions, refresh tokens and older links of the user', async () => {
    const older = await office.makeLink(jane);
    const link = await office.makeLink(jane);
    const { browser } = await service.logIn(jane, password);
    const { ext } = tokens.parse(JSON.parse((await service.logIn(jane, password, '?token_storage=local')).body));
    const page = await visit(service, link);
    expect([page.status, page.heading]).to.deep.equal([200, 'Choose a new password']);
    expect(page.body).to.contain(jane);

    const done = await visit(service, link, passwordForm(fresh));

    expect([done.status, done.heading]).to.deep.equal([200, 'Your password is set']);
    expect(done.headers.get('set-cookie')).to.equal(null);
    const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const headers = { cookie, 'sec-fetch-site': 'same-origin' };
    expect((await service.request('/auth/v1/me', { headers })).status).to.equal(401);
    expect((await service.request('/auth/v1/me', { headers: { authorization: `Bearer ${ext.token.access_token}` } })).status).to.equal(401);
    const query = new URLSearchParams({ refresh_token: ext.token.refresh_token });
    expect((await service.request(`/api/v2/token/refresh?${query}`)).status).to.equal(401);
    for (const spent of [older, link])
      for (const fields of [undefined, passwordForm('yet another staple')]) {
        const { status, heading } = await visit(service, spent, fields);
        expect([status, heading]).to.deep.equal([410, 'This link no longer works']);
      }
    expect([await counts(jane, password), await counts(jane, fresh)]).to.deep.equal([false, true]);
  });

  it('REC2-02 count once when they are used on two replicas at the same moment', async () => {
    const link = await office.makeLink(joe);
    const given = ['first new staple', 'second new staple', 'third new staple', 'fourth new staple'];
    const pages = await Promise.all(
      given.map((one, index) => visit(service, link, passwordForm(one), service.urls[index % service.urls.length])),
    );

    expect(pages.map(({ status }) => status).toSorted()).to.deep.equal([200, 410, 410, 410]);
    const winner = given[pages.findIndex(({ status }) => status === 200)] ?? '';
    for (const one of [password, ...given]) expect(await counts(joe, one), one).to.equal(one === winner);
  });

  it('REC2-02 are not spent by a look, nor by a password that is refused', async () => {
    const link = await office.makeLink(ann);
    for (let look = 0; look < 3; look += 1) expect((await visit(service, link)).status).to.equal(200);
    expect((await service.request(new URL(link).pathname, { method: 'HEAD' })).status).to.equal(200);
    for (const fields of [passwordForm('short'), passwordForm(fresh, `${fresh}.`), passwordForm(password), {}]) {
      const { status, body } = await visit(service, link, fields);
      expect(status, JSON.stringify(fields)).to.equal(422);
      expect(body).to.contain('role="alert"');
    }
    const foreign = { method: 'POST', headers: { 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' } };
    const sent = await service.request(new URL(link).pathname, { ...foreign, body: new URLSearchParams(passwordForm(fresh)).toString() });
    expect(sent.status).to.equal(403);
    expect((await service.request(new URL(link).pathname, { method: 'PUT' })).status).to.equal(405);
    expect(await counts(ann, password)).to.equal(true);

    expect((await visit(service, link, passwordForm(fresh))).status).to.equal(200);
  });

  it('REC2-02 end with their password, when they are taken back, and with their user', async () => {
    const taken = await office.makeLink(ben);
    expect((await office.call('DELETE', linksOf(ben))).status).to.equal(204);
    const again = await office.makeLink(ben);
    expect((await office.call('DELETE', linksOf(ben))).status).to.equal(204);
    const before = await office.makeLink(ben);
    const changed = await office.call('PATCH', `/auth/v1/users/${nameOf(ben)}`, { spec: { password: fresh } });
    expect(changed.status).to.equal(200);
    const areVoid = async (...links: readonly string[]) => {
      for (const link of links)
        for (const fields of [undefined, passwordForm('yet another staple')])
          expect((await visit(service, link, fields)).status).to.equal(410);
    };
    await areVoid(taken, again, before);
    const disabled = await office.makeLink(ben);
    await areVoid(`${disabled}x`, `${disabled.slice(0, -4)}AAAA`);
    expect((await visit(service, disabled)).status).to.equal(200);
    await service.admin.call('PATCH', `/apis/auth.platform.io/v1/users/${nameOf(ben)}`, { spec: { is_disabled: true } }, mergePatch);
    await areVoid(disabled);
  });

  it('invite users who have not logged in yet, with or without a password', async () => {
    const link = await office.makeLink('new@example.com', { kind: 'invite', seconds: 604_800 });
    expect((await visit(service, link)).heading).to.equal('Welcome');

    expect((await visit(service, link, passwordForm(fresh))).status).to.equal(200);

    expect((await visit(service, link)).status).to.equal(410);
    const unused = await office.makeLink('new@example.com', { kind: 'invite' });
    expect(await counts('new@example.com', fresh)).to.equal(true);
    expect((await visit(service, unused)).status).to.equal(410);
    expect((await office.call('POST', linksOf('new@example.com'), { kind: 'invite' })).status).to.equal(409);
  });

  it('lift the lock of a user who has tried too many passwords', async () => {
    for (let wrong = 0; wrong < 5; wrong += 1) await service.authorize(ann, 'no horse at all');
    expect(await statusOf(service, ann)).to.have.property('lockedUntil');

    expect((await visit(service, await office.makeLink(ann), passwordForm('third battery staple'))).status).to.equal(200);

    expect(await statusOf(service, ann)).not.to.have.property('lockedUntil');
    expect(await counts(ann, 'third battery staple')).to.equal(true);
  });

  it('REC2-06 are for callers who may act as the user, and never for themselves', async () => {
    for (const [email, status] of [
      [chief, 403],
      [manager, 403],
      ['absent@example.com', 404],
      ['ldap@example.com', 409],
      ['off@example.com', 409],
    ] as const) {
      expect((await office.call('POST', linksOf(email), { kind: 'password' })).status, email).to.equal(status);
    }
    expect((await office.call('DELETE', linksOf(chief))).status).to.equal(403);
    expect(await statusOf(service, chief)).not.to.have.property('linksNotBefore');
  });

  it('count for as long as their kind may', async () => {
    for (const request of [
      { kind: 'password', seconds: 299 },
      { kind: 'password', seconds: 1801 },
      { kind: 'invite', seconds: 604_801 },
    ]) {
      const { status, body } = await office.call('POST', linksOf('new@example.com'), request);
      expect(status).to.equal(422);
      expect(causes.parse(body).details.causes[0]?.field).to.equal('seconds');
    }
    for (const request of [{}, { kind: 'magic' }, { kind: 'password', url: 'https://evil.example' }, { kind: 'password', seconds: 'x' }])
      expect((await office.call('POST', linksOf(chief), request)).status, JSON.stringify(request)).to.equal(400);
  });

  it('are mailed by a mail server alone: without one, the page for a forgotten password names the administrator', async () => {
    const { status, body } = await office.call('POST', linksOf('new@example.com'), { kind: 'password', mail: true });
    expect(status).to.equal(422);
    expect(causes.parse(body).details.causes[0]?.field).to.equal('mail');
    for (const fields of [undefined, { email: jane }]) {
      const page = await visit(service, `${service.url}/identity/forgotten`, fields);
      expect([page.status, page.heading]).to.deep.equal([200, 'Forgotten password']);
      expect(page.body).to.contain('An administrator can create a link for you').and.not.to.contain('<form');
    }
    expect(await statusOf(service, jane)).not.to.have.property('lastMailTime');
  });

  it('REC2-04 lead to the public address, whatever host the request names', async () => {
    const headers = { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example', 'x-forwarded-proto': 'http' };
    const { status, body } = await office.call('POST', linksOf(joe), { kind: 'password' }, headers);

    expect(status).to.equal(201);
    expect(z.object({ url: z.string() }).parse(body).url.startsWith(`${service.url}/identity/link/`)).to.equal(true);
  });

  it('REC2-08 are missing from log, audit trail, Events, metrics and Referer', async () => {
    const link = await office.makeLink(joe);
    const token = link.slice(link.lastIndexOf('/') + 1);
    const { headers } = await visit(service, link);
    await visit(service, link, passwordForm('short'));
    for (const path of [`/identity//link/${token}`, `/identity/link/${token}/`, `/IDENTITY/link/${token}`, `/identity/link%2F${token}`])
      await service.request(path);
    await visit(service, link, passwordForm('a fourth battery staple'));

    expect(headers.get('referrer-policy')).to.equal('strict-origin');
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(service.lines.filter((line) => line.includes(token))).to.deep.equal([]);
    expect(service.lines.some((line) => line.includes('"path":"/identity/link/***"'))).to.equal(true);
    for (const audit of ['LinkMade', 'LinkUsed']) expect(service.lines.some((line) => line.includes(`"audit":"${audit}"`))).to.equal(true);
    const events = JSON.stringify((await service.admin.call('GET', '/api/v1/namespaces/default/events')).body);
    expect(events).to.contain('LinkUsed').and.not.to.contain(token);
    const metrics = await (await fetch(`${service.metricsURL}/metrics`)).text();
    expect(metrics).to.contain('identity link').and.not.to.contain(token);
    const stored = JSON.stringify((await service.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(joe)}`)).body);
    expect(stored).not.to.contain(token);
  });
});
