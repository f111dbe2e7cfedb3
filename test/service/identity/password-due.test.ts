import { expect } from 'chai';
import { z } from 'zod';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { nameOf } from '../users/a-user.ts';
import type { Browser, PageVisit } from './browser.ts';
import { Issuers } from './issuers.ts';
import { RelyingParty } from './relying-party.ts';

const given = 'given by somebody';
const chosen = 'chosen by myself';
const twice = (password: string) => ({ new_password: password, new_password_again: password });
const record = z.object({ status: z.record(z.string(), z.unknown()) });

describe('the login page, when the password is due', () => {
  const issuers = forSuite(() => Issuers.start({ replicas: 2 }));
  const party = (clientID?: string) =>
    new RelyingParty({ issuer: issuers.issuer, ...(clientID && { clientID, redirectURI: 'http://127.0.0.1:8000/callback' }) });
  const due = async (email: string) => {
    await issuers.addPerson(email, given);
    await issuers.change(email, { status: { mustChangePassword: true } });
    return { email, password: given };
  };
  const statusOf = async (email: string) =>
    record.parse((await issuers.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(email)}`)).body).status;
  const hashOf = async (email: string) => {
    const path = `/api/v1/namespaces/${serviceNamespace}/secrets/user-password-${nameOf(email)}`;
    return z.object({ data: z.object({ hash: z.string() }) }).parse((await issuers.kubernetes.call('GET', path)).body).data.hash;
  };
  const proofIn = ({ body }: PageVisit) => /name="proof" value="([^"]+)"/.exec(body)?.[1] ?? '';
  const wasLetIn = ({ url }: PageVisit) => url.searchParams.has('code');

  it('asks for a new one during the login, and continues at any client', async () => {
    for (const [client, email] of [
      [undefined, 'console@example.com'],
      ['kubectl', 'kubectl@example.com'],
    ] as const) {
      const person = await due(email);
      const browser = issuers.browser();
      const page = await party(client).begin(browser, person);
      expect(page.response.status).to.equal(200);
      expect(page.body).to.contain('autocomplete="new-password"').and.to.contain(email);
      expect(page.body).not.to.contain(given).and.not.to.contain('<script');

      const end = await browser.submit(page, twice(chosen));

      expect(wasLetIn(end), end.body).to.equal(true);
      const status = await statusOf(email);
      expect(status).to.include({ mustChangePassword: false, phase: 'Normal' });
      expect(status.passwordChangedTime).to.equal(status.sessionsNotBefore);
      expect(await party(client).code(issuers.browser(), { email, password: chosen })).to.be.a('string');
      expect((await party(client).begin(issuers.browser(), person)).response.status).to.equal(403);
    }
  });

  it('continues the login also on a replica that learns of the new password later', async () => {
    const person = await due('late@example.com');
    const name = nameOf(person.email);
    const browser = issuers.browser();
    const page = await party().begin(browser, person);
    // Each replica returns the old record until it waits for the new one, as with a delayed watch.
    const restores = issuers.replicas.map(({ accounts }) => {
      const { get, watch } = accounts;
      const waitForWrite = watch.waitForWrite.bind(watch);
      const old = get(name);
      let hasWaited = false;
      Object.assign(accounts, {
        get: (asked: string) => (asked === name && !hasWaited ? old : get(asked)),
      });
      Object.assign(watch, {
        waitForWrite: async (...asked: Parameters<typeof waitForWrite>) => {
          hasWaited = true;
          return waitForWrite(...asked);
        },
      });
      return () => {
        Object.assign(accounts, { get });
        Object.assign(watch, { waitForWrite });
      };
    });
    try {
      const end = await browser.submit(page, twice(chosen));
      expect(wasLetIn(end), end.body).to.equal(true);
    } finally {
      for (const restore of restores) restore();
    }
  });

  it('issues valid tokens, and records the change', async () => {
    const person = await due('tokens@example.com');
    const browser = issuers.browser();
    const relyingParty = party();
    const end = await browser.submit(await relyingParty.begin(browser, person), twice(chosen));

    const { status, body } = await relyingParty.redeem(end.url.searchParams.get('code') ?? '');

    expect(status).to.equal(200);
    const { access_token } = z.object({ access_token: z.string() }).parse(body);
    expect((await relyingParty.userinfo(access_token)).status).to.equal(200);
    const target = nameOf('tokens@example.com');
    expect(issuers.auditLines.filter((line) => line.target === target && line.audit === 'PasswordChanged')).to.have.length(1);
    expect(JSON.stringify([issuers.auditLines, issuers.logLines])).not.to.contain(chosen);
  });

  it('USR-07 ends the sessions and tokens that the old password has made', async () => {
    const email = 'sessions@example.com';
    await issuers.addPerson(email, given);
    const old = issuers.browser();
    const relyingParty = party();
    const tokens = await relyingParty.tokens(old, { email, password: given });
    await issuers.change(email, { status: { mustChangePassword: true } });

    const browser = issuers.browser();
    await browser.submit(await party().begin(browser, { email, password: given }), twice(chosen));

    // The other replica learns of the change by its watch.
    await eventually(
      async () => (await relyingParty.userinfo(tokens.access_token)).status,
      (status) => status === 401,
    );
    await eventually(
      async () => (await old.get(party().authorizationURL())).body,
      (body) => body.includes('name="password"'),
    );
  });

  it('asks users who are already logged in for the password first', async () => {
    const email = 'open@example.com';
    await issuers.addPerson(email, given);
    const browser = issuers.browser();
    await party().code(browser, { email, password: given });
    await issuers.change(email, { status: { mustChangePassword: true } });

    for (const client of [undefined, 'kubectl']) {
      const page = await browser.get(party(client).authorizationURL());
      expect(page.body).to.contain('name="password"').and.not.to.contain('new_password');
    }
  });

  it('refuses a password that breaks the policy, with the reason, and lets the user try again', async () => {
    const person = await due('careful@example.com');
    const browser = issuers.browser();
    let page = await party().begin(browser, person);
    const hash = await hashOf(person.email);

    for (const [fields, words] of [
      [twice('short'), 'too short'],
      [twice(''), 'too short'],
      // Eight ligatures are one character each; these are seven characters, with combining marks that normalization composes.
      [twice('e\u0301'.repeat(7)), 'too short'],
      [twice('x'.repeat(129)), 'too long'],
      [twice('I am CAREFUL now'), 'must not contain your name'],
      [twice(given), 'The old password cannot be used again'],
      [{ new_password: chosen, new_password_again: given }, 'not the same'],
      [{ new_password: chosen }, 'not the same'],
    ] as const) {
      page = await browser.submit(page, fields);
      expect(page.response.status, words).to.equal(422);
      expect(page.body)
        .to.match(/<title>Error: /)
        .and.to.contain(words);
    }

    expect(await hashOf(person.email)).to.equal(hash);
    expect(await statusOf(person.email)).to.include({ mustChangePassword: true });
    expect(wasLetIn(await browser.submit(page, twice(chosen)))).to.equal(true);
  });

  it('accepts a proof of the old password once, in the visit in which it was given', async () => {
    const person = await due('stolen@example.com');
    const browser = issuers.browser();
    const page = await party().begin(browser, person);
    const hash = await hashOf(person.email);
    const attempts: [string, () => Promise<PageVisit>][] = [
      ['another visit', async () => inAnotherVisit(issuers.browser(), proofIn(page))],
      ['another browser', () => issuers.browser().submit(page, twice(chosen))],
      ['a forged one', () => browser.submit(page, { ...twice(chosen), proof: `${proofIn(page).slice(0, -4)}AAAA` })],
      ['none', () => browser.submit(page, { ...twice(chosen), proof: '' })],
    ];
    for (const [what, attempt] of attempts) {
      expect((await attempt()).response.status, what).to.equal(400);
      expect(await hashOf(person.email), what).to.equal(hash);
    }

    const second = issuers.browser();
    const later = await party().begin(second, person);
    expect(wasLetIn(await browser.submit(page, twice(chosen)))).to.equal(true);
    expect((await second.submit(later, twice('of somebody else'))).response.status).to.equal(400);
    expect(wasLetIn(await party().begin(issuers.browser(), { ...person, password: chosen }))).to.equal(true);
  });

  it('lets one of several changes at once win, on whichever replica', async () => {
    const person = await due('many@example.com');
    const visits = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const browser = issuers.browser();
        return { browser, page: await party().begin(browser, person) };
      }),
    );

    const ends = await Promise.all(visits.map(({ browser, page }, index) => browser.submit(page, twice(`${chosen} ${index}`))));

    const winner = ends.findIndex(wasLetIn);
    expect(ends.filter(wasLetIn)).to.have.length(1);
    expect(wasLetIn(await party().begin(issuers.browser(), { ...person, password: `${chosen} ${winner}` }))).to.equal(true);
  });

  it('lets no user change it who was disabled meanwhile, nor a form that another site sends', async () => {
    const person = await due('off@example.com');
    const browser = issuers.browser();
    const page = await party().begin(browser, person);
    const hash = await hashOf(person.email);

    const foreign = issuers.browser({ 'sec-fetch-site': 'cross-site' });
    expect((await foreign.submit(page, twice(chosen))).response.status).to.equal(403);
    await issuers.change(person.email, { spec: { is_disabled: true } });
    expect((await browser.submit(page, twice(chosen))).response.status).to.equal(400);

    expect(await hashOf(person.email)).to.equal(hash);
  });

  async function inAnotherVisit(browser: Browser, proof: string): Promise<PageVisit> {
    const other = await browser.get(party().authorizationURL());
    return browser.submit(other, { ...twice(chosen), proof });
  }
});
