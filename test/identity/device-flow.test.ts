import { expect } from 'chai';
import { z } from 'zod';
import { Issuers } from './issuers.ts';
import { claimsOf, RelyingParty, tokensOf } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const grantType = 'urn:ietf:params:oauth:grant-type:device_code';

const authorization = z.object({
  device_code: z.string(),
  user_code: z.string().regex(/^[A-Z]{4}-[A-Z]{4}$/),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.literal(600),
});

describe('the device flow', () => {
  let issuers: Issuers;
  let relying: RelyingParty;

  before(async () => {
    issuers = await Issuers.start({ replicas: 2 });
    await issuers.addPerson(jane.email, jane.password);
    relying = new RelyingParty({ issuer: issuers.issuer, clientID: 'kubectl' });
  });
  after(() => issuers.stop());

  const begin = async () => authorization.parse((await relying.post('/device/auth', { scope: 'openid email groups offline_access' })).body);
  const poll = (deviceCode: string) => relying.post('/token', { grant_type: grantType, device_code: deviceCode });

  it('logs a command-line tool in', async () => {
    const { device_code: deviceCode, user_code: userCode, verification_uri: uri } = await begin();
    expect(uri).to.equal(`${issuers.issuer}/device`);
    expect((await poll(deviceCode)).body.error).to.equal('authorization_pending');

    const browser = issuers.browser();
    const entry = await browser.get(uri);
    expect(entry.body).to.match(/<label for="code">/);
    expect(entry.body).to.not.contain('<script');
    const question = await browser.submit(entry, { user_code: userCode.toLowerCase() });
    expect(question.body).to.contain(`<p class="code">${userCode}</p>`).and.to.contain('kubectl');
    const logIn = await browser.submit(question, { confirm: 'yes' });
    const done = await browser.submit(logIn, jane);
    expect(done.response.status).to.equal(200);
    expect(done.body).to.contain('role="status"');

    const tokens = tokensOf(await poll(deviceCode));
    expect(claimsOf(tokens.id_token)).to.include({ email: jane.email, aud: 'kubectl' });
    expect((await relying.refresh(tokens.refresh_token)).status).to.equal(200);
    expect((await poll(deviceCode)).body.error).to.equal('invalid_grant');
  });

  it('puts the code of the complete address into the form, without sending it', async () => {
    const { user_code: userCode, verification_uri_complete: uri } = await begin();
    const entry = await issuers.browser().get(uri);

    expect(uri).to.equal(`${issuers.issuer}/device?user_code=${userCode}`);
    expect(entry.body).to.match(new RegExp(`<input id="code"[^>]* value="${userCode}"`));
    expect(entry.body).to.not.contain('<script');
  });

  it('tells the tool when the person says no', async () => {
    const { device_code: deviceCode, user_code: userCode, verification_uri: uri } = await begin();
    const browser = issuers.browser();
    const question = await browser.submit(await browser.get(uri), { user_code: userCode });
    const end = await browser.submit(question, { abort: 'yes' });

    expect(end.body).to.contain('role="alert"');
    expect((await poll(deviceCode)).body.error).to.equal('access_denied');
  });

  it('says that there is no such code, as text', async () => {
    const browser = issuers.browser();
    const answer = await browser.submit(await browser.get(`${issuers.issuer}/device`), { user_code: '"><script>' });

    expect(answer.body).to.contain('role="alert" id="problem"').and.to.contain('&quot;&gt;&lt;script&gt;');
    expect(answer.body).to.not.contain('<script');
  });

  it('is not for clients that send people back to an address', async () => {
    const answer = await relying.post('/device/auth', { client_id: 'atrium', scope: 'openid' });

    expect(answer.status).to.equal(400);
  });

  it('bounds how many are begun from one address, and how many codes are tried', async () => {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 40; attempt += 1) statuses.push((await relying.post('/Device/Auth/', { scope: 'openid' })).status);
    expect(statuses).to.include(429);
    expect(await issuers.records('DeviceCode')).to.have.length.lessThan(40);

    const browser = issuers.browser();
    let answer = await browser.get(`${issuers.issuer}/device`);
    for (let guess = 0; guess < 70; guess += 1) answer = await browser.submit(answer, { user_code: 'BBBB-BBBB' });
    expect(answer.response.status).to.equal(429);
  });
});
