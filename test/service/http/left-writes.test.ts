import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { leaveAfterWrite } from '../../support/leave-after-write.ts';
import type { Browser } from '../identity/browser.ts';
import { atCorp, beginLink, linksOf, send } from '../login/linking.ts';
import { TwoIssuers } from '../login/two-issuers.ts';
import { nameOf } from '../users/a-user.ts';

const manager = 'manager@example.com';
const people = ['ada', 'bea', 'cora', 'dora', 'emma'] as const;
const emailOf = (name: string) => `${name}@example.com`;
const users = '/auth/v1/users';
const pathOf = (name: (typeof people)[number]) => `${users}/${nameOf(emailOf(name))}`;
const mergePatch = { 'content-type': 'application/merge-patch+json' };

/** docs/contract/conventions.md: an operation that took effect is audited. */
describe('a write whose caller leaves before the replica sees it', () => {
  const two = forSuite(() => TwoIssuers.start({}, { emails: [manager, ...people.map(emailOf)], features: { accessTokens: true } }));
  let office: Browser;
  before(async () => {
    await two.service.admin.apply(clusterRoleBinding('manages', 'atrium-users-admin', { kind: 'User', name: manager }));
    await two.service.admin.apply(clusterRoleBinding('sessions', 'cluster-admin', { kind: 'User', name: manager }));
    office = (await two.logInHere('cookie', '&issuer=local', manager)).browser;
  });
  const audited = (audit: string) => two.service.lines.filter((line) => line.includes(`"audit":"${audit}"`));
  const cookiesOf = (browser: Browser) =>
    browser.cookies
      .filter((one) => one.path === '/')
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');

  /** Leaves the write, and returns its lines of the audit trail. */
  const left = async (browser: Browser, method: string, path: string, body: object | undefined, audit: string, count = 1) => {
    const before = audited(audit).length;
    const json = method === 'PATCH' ? mergePatch['content-type'] : 'application/json';
    const headers = { cookie: cookiesOf(browser), origin: two.service.url, ...(body && { 'content-type': json }) };
    await leaveAfterWrite((signal) => two.service.request(path, { method, headers, signal, ...(body && { body: JSON.stringify(body) }) }));
    await eventually(
      () => audited(audit).length,
      (now) => now === before + count,
    );
    return audited(audit).slice(before);
  };
  const browserOf = async (name: string) => (await two.logInHere('cookie', '&issuer=local', emailOf(name))).browser;

  it('is audited for users and their accounts of issuers', async () => {
    const spec = { email: 'new@example.com', password: 'correct horse battery' };
    await left(office, 'POST', users, { apiVersion: 'auth.platform.io/v1', kind: 'User', spec }, 'UserCreated');
    await left(office, 'PATCH', pathOf('ada'), { spec: { username: 'Ada L.' } }, 'UserPatched');
    const subjects = [{ issuer: two.corp.issuer, sub: 'ada-at-corp' }];
    await two.service.admin.call(
      'PATCH',
      `/apis/auth.platform.io/v1/users/${nameOf(emailOf('ada'))}/status`,
      { status: { subjects } },
      mergePatch,
    );
    await left(office, 'DELETE', `${pathOf('ada')}/subjects`, undefined, 'UserSubjectsDeleted');
    await left(office, 'PATCH', pathOf('ada'), { spec: { password: 'quite another staple' } }, 'PasswordReset');
    await left(office, 'DELETE', pathOf('ada'), undefined, 'UserDeleted');
  });

  it('is audited for access tokens', async () => {
    const browser = await browserOf('bea');
    const [line = ''] = await left(browser, 'POST', '/auth/v1/accesstoken', { description: 'ci' }, 'AccessTokenCreated');
    expect(line).not.to.equal('');
    const { body } = await send(two, browser, 'GET', '/auth/v1/accesstokens');
    const [token] = (body as { items: { metadata: { name: string } }[] }).items;
    await left(browser, 'DELETE', `/auth/v1/accesstokens/${token?.metadata.name}`, undefined, 'AccessTokenDeleted');
  });

  it('is audited for sessions, each of them', async () => {
    const browser = await browserOf('cora');
    await browserOf('cora');
    await browserOf('cora');
    const { body } = await send(two, browser, 'GET', '/auth/v1/sessions');
    const [session] = (body as { items: { metadata: { name: string } }[] }).items;
    await left(office, 'DELETE', `/auth/v1/sessions/${session?.metadata.name}`, undefined, 'SessionDeleted');
    await left(office, 'DELETE', `/auth/v1/sessions?user=${nameOf(emailOf('cora'))}`, undefined, 'SessionDeleted', 2);
  });

  it('is audited for second factors', async () => {
    await left(office, 'DELETE', `${pathOf('dora')}/factors`, undefined, 'FactorsReset');
  });

  it('is audited for linked accounts', async () => {
    two.corp.person = atCorp('emma');
    const browser = await browserOf('emma');
    const { answer } = await beginLink(two, browser);
    await left(browser, 'GET', `/api/v2/token/callback?${answer}`, undefined, 'SubjectLinked');
    const again = await browserOf('emma');
    const link = (await linksOf(two, again)).find(({ isFirst }) => !isFirst);
    await left(again, 'DELETE', `/auth/v1/links/${link?.id}`, undefined, 'SubjectUnlinked');
  });
});
