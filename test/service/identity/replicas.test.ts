import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from './issuers.ts';
import { RelyingParty, tokensOf } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };

describe('two replicas of the embedded OpenID provider', () => {
  const issuers = forSuite(() => Issuers.start({ replicas: 2 }));
  const party = () => new RelyingParty({ issuer: issuers.issuer });

  before(async () => {
    await issuers.addPerson(jane.email, jane.password);
  });

  /** Sends the same request to both replicas concurrently. */
  const both = <T>(send: (origin: string) => Promise<T>) => Promise.all(issuers.replicas.map(({ origin }) => send(origin)));

  it('FLT-11 are one: each request of a login may go to the other', async () => {
    const [a = '', b = ''] = issuers.replicas.map(({ origin }) => origin);
    const relying = party();
    const code = await relying.code(issuers.browser(), jane);
    const tokens = tokensOf(await relying.redeem(code, { origin: b }));
    const renewed = tokensOf(await relying.refresh(tokens.refresh_token, { origin: a }));
    const revoked = await relying.post('/token/revocation', { token: renewed.refresh_token, origin: b });

    expect(revoked.status).to.equal(200);
    expect((await relying.refresh(renewed.refresh_token, { origin: a })).status).to.equal(400);
  });

  it('show the same keys', async () => {
    const [first, second] = await both(async (origin) => (await fetch(`${origin}/identity/jwks`)).text());

    expect(first).to.equal(second);
  });

  it('issue no lasting tokens for a code that both get concurrently', async () => {
    const relying = party();
    for (let round = 0; round < 5; round += 1) {
      const code = await relying.code(issuers.browser(), jane);
      const answers = await both((origin) => relying.redeem(code, { origin }));
      const given = answers.filter(({ status }) => status === 200);

      expect(given.length).to.be.lessThan(2);
      for (const answer of given) expect((await relying.refresh(tokensOf(answer).refresh_token)).status).to.equal(400);
    }
  });

  it('exchange a refresh token that both get concurrently at most once, and end the family', async () => {
    const relying = party();
    for (let round = 0; round < 5; round += 1) {
      const { refresh_token: token } = await relying.tokens(issuers.browser(), jane);
      const answers = await both((origin) => relying.refresh(token, { origin }));
      const given = answers.filter(({ status }) => status === 200);

      expect(given.length).to.be.lessThan(2);
      for (const answer of given) expect((await relying.refresh(tokensOf(answer).refresh_token)).status).to.equal(400);
    }
  });

  it('serve the tabs of one browser that are loaded all at once', async () => {
    const browser = issuers.browser();
    await party().code(browser, jane);
    const sessions = await issuers.records('Session');
    const visits = await Promise.all(Array.from({ length: 20 }, () => browser.get(party().authorizationURL())));

    for (const { url, body } of visits) expect(url.searchParams.get('code'), body).to.be.a('string');
    expect(await issuers.records('Session')).to.deep.equal(sessions);
  });

  it('open a session of the other replica', async () => {
    const browser = issuers.browser();
    await party().code(browser, jane);
    const visits = [await browser.get(party().authorizationURL()), await browser.get(party().authorizationURL())];

    for (const { url } of visits) expect(url.searchParams.get('code')).to.be.a('string');
  });
});
