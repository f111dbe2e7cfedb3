import { expect } from 'chai';
import { recordOf, send, tokenIn } from '../../service/login/linking.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { KeycloakBrowser } from './page.ts';
import { suite } from './suite.ts';
import { addressOf, causeOf, extOf, isSessionSet, KeycloakBeside, noRecordOf, ownerOf, sessionCookie } from './two-issuers.ts';

const [jane, ines, shared] = ['jane@example.com', 'ines@example.com', 'two-shared@foreign.test'];

/** Several issuers: docs/contract/login.md. */
describe('Keycloak beside the embedded issuer', () => {
  const all = forSuite(suite, (it) => it.stopServices());
  const two = forSuite(() => KeycloakBeside.start(all, [jane, ines, shared]));

  it('is listed after it', async () => {
    const listed = await two.get(two.newBrowser(), '/api/v2/token/issuers');

    expect(listed.status, listed.text).to.equal(200);
    expect(listed.headers.get('content-type')).to.match(/^application\/json\b/);
    expect(listed.headers.get('cache-control')).to.equal('no-store');
    const items = [
      { id: 'local', name: 'Local users' },
      { id: 'corp', name: 'Example Corp' },
    ];
    expect(listed.body).to.deep.equal({ items });
  });

  for (const [username, how, parameters] of [
    ['two-ada', 'issuer', { issuer: 'corp' }],
    ['two-bea', 'connector_id', { connector_id: 'corp' }],
    ['two-cora', 'the domain of login_hint', { login_hint: 'Two-Cora@Foreign.test' }],
  ] as const)
    it(`logs users in by ${how}`, async () => {
      const person = await two.realm.person(username, { groups: ['dev'] });
      const there = await two.logInAtCorp(person, { parameters });

      expect(there.address.startsWith(`${two.realm.issuer}/`), there.address).to.equal(true);
      expect(new URL(there.address).searchParams.has('connector_id')).to.equal(false);
      expect(there.status, there.text).to.equal(200);
      expect(isSessionSet(there)).to.equal(true);
      expect(there.body).to.deep.include({ name: `corp:${person.email}`, uid: person.id, groups: ['corp:dev'] });
      expect(extOf(there)).to.include({ user: nameOf(person.email), issuer: two.realm.issuer });
      expect(await two.infoOf(there.browser)).to.equal(200);
      expect(await two.sessionOf(there.browser)).to.equal(200);
      const { spec, status } = await recordOf(two, nameOf(person.email));
      expect(spec).to.include({ email: person.email, connector_type: 'oidc' });
      expect(status).to.deep.include({ subjectName: `corp:${person.email}`, groups: ['dev'] });
      expect(status.subjects).to.have.length(1);
      expect(status.subjects).to.have.nested.property('[0]').that.includes({ issuer: two.realm.issuer, sub: person.id });
    });

  for (const [how, parameters] of [
    ['issuer', { issuer: 'local', connector_id: 'corp' }],
    ['connector_id', { connector_id: 'local' }],
    ['a login_hint of no issuer', { login_hint: jane }],
  ] as const)
    it(`leaves users to the embedded one by ${how}`, async () => {
      await two.forgetRequests();
      const here = await two.logInHere(jane, { parameters });

      expect(here.status, here.text).to.equal(200);
      expect(isSessionSet(here)).to.equal(true);
      expect(here.body).to.deep.include({ name: jane, groups: ['dev'] });
      expect(extOf(here)).to.include({ user: nameOf(jane), issuer: `${two.service.url}/identity` });
      expect(await two.infoOf(here.browser)).to.equal(200);
      expect(await two.sessionOf(here.browser)).to.equal(200);
      const { spec, status } = await recordOf(two, nameOf(jane));
      expect(spec).to.include({ email: jane, connector_type: 'local' });
      expect(status).to.deep.include({ subjectName: jane, groups: ['dev'] });
      expect(status).not.to.have.property('subjects');
      expect(await two.requests()).to.deep.equal([]);
    });

  it('ISS-02 gets no access to the record of a local user with the same verified address', async () => {
    const person = await two.realm.person('two-shared', { groups: ['dev'] });
    const before = ownerOf(await recordOf(two, nameOf(shared)));

    const refused = await two.logInAtCorp(person);

    expect(refused.status, refused.text).to.equal(401);
    expect(causeOf(refused)).to.include({ reason: 'SubjectDiffers' });
    expect(isSessionSet(refused)).to.equal(false);
    expect(await two.infoOf(refused.browser)).to.equal(401);
    expect(ownerOf(await recordOf(two, nameOf(shared)))).to.deep.equal(before);
    expect((await two.logInHere(shared)).status).to.equal(200);
  });

  it('ISS-02 protects records of its users from logins by password, even if one is set', async () => {
    const person = await two.realm.person('two-dora');
    expect((await two.logInAtCorp(person)).status).to.equal(200);
    await two.givePassword(person);
    const before = ownerOf(await recordOf(two, nameOf(person.email)));

    const refused = await two.authorizeHere(person.email);

    expect(refused.refusal).to.equal(403);
    expect(refused.back.pathname, 'stays at the page').to.match(/^\/identity\//);
    expect(refused.browser.cookies.map(({ name }) => name)).not.to.satisfy((names: string[]) =>
      names.some((name) => name.startsWith(sessionCookie)),
    );
    expect(ownerOf(await recordOf(two, nameOf(person.email)))).to.deep.equal(before);
    expect((await two.logInAtCorp(person)).status).to.equal(200);
  });

  it('ISS-01 completes no login without its announced iss or with another iss, and receives no token request', async () => {
    const { text } = await all.keycloak.request(`${two.realm.issuer}/.well-known/openid-configuration`);
    expect(JSON.parse(text)).to.include({ authorization_response_iss_parameter_supported: true });
    const person = await two.realm.person('two-emma');
    for (const iss of [undefined, `${two.service.url}/identity`, all.realm('passthrough').issuer, `${two.realm.issuer}/`]) {
      const { browser, answer } = await two.begin(person);
      expect(answer.get('iss')).to.equal(two.realm.issuer);
      if (iss === undefined) answer.delete('iss');
      else answer.set('iss', iss);
      await two.forgetRequests();

      const refused = await two.callback(browser, answer);

      expect(refused.status, refused.text).to.equal(400);
      expect(causeOf(refused)).to.include({ field: 'iss' });
      expect(isSessionSet(refused)).to.equal(false);
      expect(browser.cookies.filter(({ value }) => value !== '')).to.deep.equal([]);
      expect(await two.requests()).to.deep.equal([]);
      // The failed attempt has used up the login.
      answer.set('iss', two.realm.issuer);
      expect((await two.callback(browser, answer)).status).to.equal(400);
    }
    expect(await noRecordOf(two, person)).to.equal(true);
    expect((await two.logInAtCorp(person)).status).to.equal(200);
  });

  for (const storage of ['cookie', 'local'] as const)
    it(`ISS-06 renews only its own tokens, with storage ${storage}`, async () => {
      const person = await two.realm.person(`two-fay-${storage}`);
      for (const [visited, asked, askedHere] of [
        [await two.logInAtCorp(person, { storage }), ['REFRESH_TOKEN'], 0],
        [await two.logInHere(jane, { storage }), [], 1],
      ] as const) {
        const { browser, text } = visited;
        expect(visited.status, text).to.equal(200);
        const { refresh_token: given = '' } = tokenIn(visited.body);
        await two.forgetRequests();

        const renewed = await two.get(browser, `/api/v2/token/refresh?refresh_token=${given}`);

        expect(renewed.status, renewed.text).to.equal(200);
        expect(renewed.headers.get('cache-control')).to.equal('no-store');
        expect(renewed.body).to.include({ token_type: 'Bearer', token_storage: storage });
        // Keycloak may record the event after its answer.
        const noted = await eventually(
          () => two.requests(),
          ({ length }) => length >= asked.length,
        );
        expect(noted).to.deep.equal(asked);
        expect(two.requestsHere()).to.equal(askedHere);
        if (storage === 'cookie') expect([await two.infoOf(browser), await two.sessionOf(browser)]).to.deep.equal([200, 200]);
      }
    });

  it('ISS-06 receives no refresh token of the other issuer with a forged mark on the seal, and vice versa', async () => {
    const there = await two.logInAtCorp(await two.realm.person('two-gina'), { storage: 'local' });
    const here = await two.logInHere(jane, { storage: 'local' });
    for (const [visited, id, other] of [
      [there, 'corp', 'local'],
      [here, 'local', 'corp'],
    ] as const) {
      const { refresh_token: seal = '' } = tokenIn(visited.body);
      expect(seal.startsWith(`atr.${id}.`)).to.equal(true);
      await two.forgetRequests();

      const refused = await two.get(visited.browser, `/api/v2/token/refresh?refresh_token=${seal.replace(`atr.${id}.`, `atr.${other}.`)}`);

      expect(refused.status, refused.text).to.equal(401);
      expect(refused.body).not.to.have.property('access_token');
      expect([await two.requests(), two.requestsHere()]).to.deep.equal([[], 0]);
      expect((await two.get(visited.browser, `/api/v2/token/refresh?refresh_token=${seal}`)).status).to.equal(200);
    }
  });

  it('ISS-07 reports the end of a session, which ends that session alone', async () => {
    const person = await two.realm.person('two-hanna');
    const here = await two.logInHere(jane);
    const ended = await two.logInAtCorp(person);
    const other = await two.logInAtCorp(person);
    const before = two.logouts.length;

    await two.realm.admin('DELETE', `/sessions/${ended.answer.get('session_state')}`);

    await two.whenOut(ended.browser);
    // The session is deleted before the answer.
    await eventually(
      () => two.logouts.length,
      (count) => count > before,
    );
    expect(two.logouts.slice(before)).to.deep.equal([200]);
    expect(await two.sessionOf(ended.browser)).to.equal(404);
    for (const { browser } of [here, other]) expect([await two.infoOf(browser), await two.sessionOf(browser)]).to.deep.equal([200, 200]);
  });

  it('ISS-03 is linked by a local user: both lead to the record, and the local session outlives those at Keycloak', async () => {
    const person = await two.realm.person('two-ines', { groups: ['oncall'] });
    const atKeycloak = new KeycloakBrowser(all.keycloak);
    const before = await recordOf(two, nameOf(ines));
    const { browser } = await two.logInHere(ines);
    const elsewhere = await two.logInHere(ines);
    const begun = await send(two, browser, 'POST', '/auth/v1/links', { issuer: 'corp', return_to: '/links' });
    expect(begun.status, begun.text).to.equal(200);

    const linked = await two.callback(browser, await two.atKeycloak(addressOf(begun), person, atKeycloak));

    expect(linked.status, linked.text).to.equal(200);
    expect([linked.headers.get('cache-control'), isSessionSet(linked)]).to.deep.equal(['no-store', true]);
    expect(linked.body).to.deep.include({ name: ines });
    expect(extOf(linked)).to.include({ user: nameOf(ines), return_to: '/links' });
    expect([await two.infoOf(browser), await two.sessionOf(browser)]).to.deep.equal([200, 200]);
    expect(await two.infoOf(elsewhere.browser), 'as all that was opened before').to.equal(401);
    const { spec, status } = await recordOf(two, nameOf(ines));
    expect(spec).to.deep.equal(before.spec);
    expect(status.subjects).to.have.length(1);
    const entry = { issuer: two.realm.issuer, sub: person.id, subjectName: `corp:${person.email}`, groups: ['oncall'] };
    expect(status.subjects).to.have.nested.property('[0]').that.deep.includes(entry);

    const there = await two.logInAtCorp(person, { issuer: atKeycloak });
    expect(there.status, there.text).to.equal(200);
    expect(there.body).to.deep.include({ name: `corp:${person.email}`, groups: ['corp:oncall'] });
    expect(extOf(there)).to.include({ user: nameOf(ines), issuer: two.realm.issuer });
    expect(await noRecordOf(two, person)).to.equal(true);

    await two.realm.admin('POST', `/users/${person.id}/logout`);
    await two.whenOut(there.browser);
    expect([await two.infoOf(browser), await two.sessionOf(browser)]).to.deep.equal([200, 200]);
  });
});
