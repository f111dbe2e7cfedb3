import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from './issuers.ts';
import { RelyingParty, tokensOf } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** The API server cannot be reached here, so a call to it would be answered with 503. */
describe('codes and tokens that the embedded issuer has not issued', () => {
  const issuers = forSuite(() => Issuers.start());
  let relying: RelyingParty;

  const inTheDark = async (ask: () => Promise<void>) => {
    const [replica] = issuers.replicas;
    const { refresh_token: genuine } = await relying.tokens(issuers.browser(), jane);
    await replica?.relay.cut();
    try {
      await ask();
    } finally {
      await replica?.relay.mend();
      await eventually(
        () => relying.refresh(genuine),
        ({ status }) => status !== 503,
      );
    }
  };

  const uses = (id: string): [string, () => Promise<{ status: number; body: Record<string, unknown> }>, number][] => [
    ['code', () => relying.redeem(id), 400],
    ['refresh token', () => relying.refresh(id), 400],
    ['device code', () => relying.post('/token', { client_id: 'kubectl', grant_type: deviceGrant, device_code: id }), 400],
    ['access token', () => relying.userinfo(id), 401],
    ['token to revoke', () => relying.post('/token/revocation', { token: id }), 200],
  ];

  before(async () => {
    await issuers.addPerson(jane.email, jane.password);
    relying = new RelyingParty({ issuer: issuers.issuer });
  });

  it('LIM-09 cost no call to the API server', async () => {
    const { refresh_token: genuine } = await relying.tokens(issuers.browser(), jane);
    const [kid = ''] = genuine.split('.');
    const middle = genuine.length - 30;
    const madeUp = [
      randomBytes(32).toString('base64url'),
      `${kid}.${randomBytes(60).toString('base64url')}`,
      `unknown.${randomBytes(60).toString('base64url')}`,
      `${genuine.slice(0, middle)}${genuine[middle] === 'A' ? 'B' : 'A'}${genuine.slice(middle + 1)}`,
    ];
    await inTheDark(async () => {
      for (const id of madeUp)
        for (const [what, use, status] of uses(id)) expect((await use()).status, `${id.slice(0, 16)} as ${what}`).to.equal(status);
      expect((await relying.refresh(genuine)).status, 'the genuine one').to.equal(503);
    });
  });

  it('LIM-09 are those of another kind too', async () => {
    const { access_token: accessToken, refresh_token: refreshToken } = await relying.tokens(issuers.browser(), jane);
    await inTheDark(async () => {
      expect((await relying.refresh(accessToken)).status).to.equal(400);
      expect((await relying.redeem(refreshToken)).status).to.equal(400);
      expect((await relying.userinfo(refreshToken)).status).to.equal(401);
    });
  });

  it('LIM-09 cost one call if they were issued once, and have ended', async () => {
    const first = await relying.tokens(issuers.browser(), jane);
    expect((await relying.post('/token/revocation', { token: first.refresh_token })).status).to.equal(200);
    expect((await relying.refresh(first.refresh_token)).body.error).to.equal('invalid_grant');
    await inTheDark(async () => {
      expect((await relying.refresh(first.refresh_token)).body.error).to.equal('invalid_grant');
    });
  });

  it('are all different', async () => {
    const all = new Set<string>();
    const browser = issuers.browser();
    for (let turn = 0; turn < 5; turn += 1) {
      const tokens = tokensOf(await relying.redeem(await relying.code(browser, jane)));
      for (const token of [tokens.access_token, tokens.refresh_token]) all.add(token);
    }
    expect(all.size).to.equal(10);
  });
});
