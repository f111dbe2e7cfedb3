import { expect } from 'chai';
import { serviceNamespace } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import type { Browser } from './browser.ts';
import { Issuers } from './issuers.ts';
import { RelyingParty, type Tokens, tokensOf } from './relying-party.ts';

const maxPerUser = 4;
const logins = 12;

describe('the number of records of a user at the embedded issuer', () => {
  const config = { login: { perMinute: 1_000_000, session: { maxPerUser } } };
  const issuers = forSuite(() => Issuers.start({ replicas: 2, config }));
  const party = () => new RelyingParty({ issuer: issuers.issuer });
  const person = { email: '', password: 'correct horse' };
  let people = 0;

  beforeEach(async () => {
    people += 1;
    person.email = `person-${people}@example.com`;
    await issuers.addPerson(person.email, person.password);
    for (const { metadata } of await issuers.records())
      await issuers.kubernetes.remove(`/apis/auth.platform.io/v1/namespaces/atrium-system/identityrecords/${metadata.name}`);
  });

  /** Counts the records of each model. */
  const counts = async () => {
    const all: Record<string, number> = {};
    for (const { spec } of await issuers.records()) all[spec.model] = (all[spec.model] ?? 0) + 1;
    return all;
  };
  const silently = async (browser: Browser, relying = party()): Promise<Tokens> => {
    const { url } = await browser.get(relying.authorizationURL({ prompt: 'none' }));
    return tokensOf(await relying.redeem(url.searchParams.get('code') ?? url.href));
  };
  const renews = async ({ refresh_token: token }: Tokens) => (await party().refresh(token)).status === 200;

  it('S4 ends the oldest grants, and leaves no code and no access token', async () => {
    const browser = issuers.browser();
    const all = [await party().tokens(browser, person)];
    while (all.length < logins) all.push(await silently(browser));

    expect(await counts()).to.deep.equal({ Session: 1, Grant: maxPerUser, RefreshToken: maxPerUser });
    const isRenewed = [];
    for (const tokens of all) isRenewed.push(await renews(tokens));
    expect(isRenewed).to.deep.equal(all.map((_, index) => index >= logins - maxPerUser));
    expect((await party().userinfo(all.at(-1)?.access_token ?? '')).status).to.equal(200);
    expect((await party().userinfo(all[0]?.access_token ?? '')).status).to.equal(401);
  });

  it('S4 holds for logins on two replicas at once', async () => {
    const browser = issuers.browser();
    await party().tokens(browser, person);
    await Promise.all(Array.from({ length: logins }, () => browser.get(party().authorizationURL({ prompt: 'none' }))));

    expect(await counts()).to.include({ Session: 1, Grant: maxPerUser });
  });

  it('S4 ends the oldest sessions of the issuer', async () => {
    const browsers: Browser[] = [];
    while (browsers.length < maxPerUser + 2) {
      const browser = issuers.browser();
      await party().tokens(browser, person);
      browsers.push(browser);
    }
    expect(await counts()).to.deep.equal({ Session: maxPerUser, Grant: maxPerUser, RefreshToken: maxPerUser });
    const isIn = [];
    for (const browser of browsers)
      isIn.push((await browser.get(party().authorizationURL({ prompt: 'none' }))).url.searchParams.has('code'));
    expect(isIn).to.deep.equal([false, false, true, true, true, true]);
  });

  it('S4 leaves the logins of other users and at other clients', async () => {
    const other = { email: `other-${people}@example.com`, password: person.password };
    await issuers.addPerson(other.email, other.password);
    const elsewhere = await party().tokens(issuers.browser(), other);
    const browser = issuers.browser();
    const kubectl = new RelyingParty({ issuer: issuers.issuer, clientID: 'kubectl', redirectURI: 'http://127.0.0.1:8000' });
    const code = (await browser.submit(await kubectl.begin(browser, person), {})).url.searchParams.get('code') ?? '';
    const atKubectl = tokensOf(await kubectl.redeem(code));
    for (let count = 0; count < logins; count += 1) await silently(browser);

    expect(await renews(elsewhere)).to.equal(true);
    expect((await kubectl.refresh(atKubectl.refresh_token)).status).to.equal(200);
  });

  it('S4 keeps one refresh token of a login, and ends the login when an older one comes again', async () => {
    const first = await party().tokens(issuers.browser(), person);
    let tokens = first;
    for (let count = 0; count < logins; count += 1) tokens = tokensOf(await party().refresh(tokens.refresh_token));
    expect(await counts()).to.deep.equal({ Session: 1, Grant: 1, RefreshToken: 1 });

    expect(await renews(first)).to.equal(false);
    expect(await renews(tokens)).to.equal(false);
    expect(await counts()).to.deep.equal({ Session: 1 });
  });

  it('S4 ends a login by its access token', async () => {
    const tokens = await party().tokens(issuers.browser(), person);
    expect((await party().post('/token/revocation', { token: tokens.access_token, client_id: 'kubectl' })).status).to.equal(200);
    expect((await party().userinfo(tokens.access_token)).status).to.equal(200);
    expect((await party().post('/token/revocation', { token: tokens.access_token })).status).to.equal(200);

    expect((await party().userinfo(tokens.access_token)).status).to.equal(401);
    expect(await renews(tokens)).to.equal(false);
    expect(await counts()).to.deep.equal({ Session: 1 });
  });
});

describe('the logins of a user who stores the tokens', () => {
  const email = 'jane@example.com';
  const password = 'correct horse battery';
  const service = forSuite(() => startEmbeddedLogin({ emails: [email], password, login: { session: { maxPerUser } } }));

  it('S4 are limited like sessions: the oldest one ends', async () => {
    const tokens: string[] = [];
    while (tokens.length < maxPerUser + 2) {
      const { status, body } = await service.logIn(email, password, '?token_storage=local');
      expect(status, body).to.equal(200);
      tokens.push(JSON.parse(body).ext.token.refresh_token);
    }
    const { body } = await service.admin.call('GET', `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/identityrecords`);
    const models = (body as { items: { spec: { model: string } }[] }).items.map(({ spec }) => spec.model);
    const each = ['Grant', 'RefreshToken', 'Session'];
    expect(models.sort()).to.deep.equal(each.flatMap((model) => Array.from({ length: maxPerUser }, () => model)));
    const statuses: number[] = [];
    for (const token of tokens) statuses.push((await service.request(`/api/v2/token/refresh?refresh_token=${token}`)).status);
    expect(statuses).to.deep.equal([401, 401, 200, 200, 200, 200]);
  });
});
