/** Passkeys at the embedded issuer, by an authenticator that tells the truth. */

import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from '../identity/issuers.ts';
import { claimsOf, tokensOf } from '../identity/relying-party.ts';
import { Authenticator, optionsIn } from './authenticator.ts';
import { codesIn, Person, wasLetIn } from './person.ts';

describe('a passkey at the embedded issuer', () => {
  const issuers = forSuite(() => Issuers.start({ replicas: 2, host: 'localhost' }));
  const someone = (name: string) => Person.with(issuers, `${name}@example.com`);

  it('is set up after a full login, with recovery codes, and kept without its key being readable', async () => {
    const person = await someone('new');
    const browser = person.browser();
    const page = await person.begin(browser, { prompt: 'enrol', factor: 'passkey' });
    expect(page.response.status, page.body).to.equal(200);
    const options = optionsIn(page);
    expect(options.rp).to.deep.equal({ id: 'localhost', name: 'Atrium' });
    const authenticator = new Authenticator(issuers.origin);
    const codes = await browser.submit(page, { assertion: authenticator.create(page), name: 'laptop' });
    expect(codesIn(codes), codes.body).to.have.length(10);
    expect(wasLetIn(await browser.submit(codes, {}))).to.equal(true);

    const [passkey] = (await person.factors()).filter(({ spec }) => spec.type === 'Passkey');
    expect(passkey?.spec).to.deep.include({
      name: 'laptop',
      passkey: {
        rpID: 'localhost',
        aaguid: '00000000-0000-0000-0000-000000000000',
        backupEligible: false,
        discoverable: true,
        transports: ['internal'],
      },
    });
    expect(JSON.stringify(passkey)).not.to.contain(authenticator.id.toString('base64url'));

    const party = person.party();
    const visitor = person.browser();
    const first = await visitor.get(party.authorizationURL());
    expect(optionsIn(first)).to.deep.include({ allowCredentials: [], userVerification: 'required', rpId: 'localhost' });
    const end = await visitor.submit(first, { assertion: authenticator.get(first) });
    expect(wasLetIn(end), end.body).to.equal(true);
    const claims = claimsOf(tokensOf(await party.redeem(end.url.searchParams.get('code') ?? '')).id_token);
    expect(claims).to.deep.include({ acr: 'phr', amr: ['pop', 'user', 'mfa'] });
  });
});
