import { expect } from 'chai';
import { tokenInText } from '../../support/token-in-text.ts';
import { Browser, logIn } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';

interface Line {
  msg?: string;
  level?: string;
  kind?: string;
  reason?: string;
  differs?: string;
  expected?: unknown;
  given?: unknown;
}

describe('why a token was refused', () => {
  const party = relyingParty({ clientSecret: 'a secret', config: { login: { perMinute: 1_000_000 } } });

  /** Returns the log lines about refused tokens from now on. */
  function listen(): () => Line[] {
    const { logLines } = party().service;
    const from = logLines.length;
    return () =>
      logLines
        .slice(from)
        .map((line) => JSON.parse(line) as Line)
        .filter(({ msg = '' }) => msg.startsWith('token refused'));
  }

  // Each kind is logged once a minute.
  beforeEach(() => party().cluster.clock.advance(61));
  afterEach(() => party().cluster.clock.thaw());

  it('is in the log for a redeemed ID token, with claim, expected and given value', async () => {
    const { provider, service } = party();
    const told = listen();
    provider.misbehave({ redeemed: { claims: { aud: 'another-client' } } });
    expectStatus((await logIn(service)).callback, 401, 'id_token');
    expect(told()).to.have.length(1);
    expect(told()[0]).to.deep.include({
      kind: 'ID token',
      reason: 'RuleViolated',
      differs: 'aud',
      expected: ['atrium'],
    });
    expect(told()[0]?.given).to.deep.equal(['another-client']);
  });

  it('is in the log for an algorithm that is not accepted', async () => {
    const { provider, service } = party();
    const told = listen();
    provider.misbehave({ frontChannel: { signer: 'client secret' } });
    expectStatus((await logIn(service, { flow: 'hybrid' })).callback, 401, 'id_token');
    expect(told()[0]).to.deep.include({ kind: 'ID token', reason: 'ERR_JOSE_ALG_NOT_ALLOWED', differs: 'alg', given: 'HS256' });
  });

  it('is in the log for the audience of a bearer token', async () => {
    const { provider, service } = party();
    const told = listen();
    expectStatus(await new Browser(service.url).info('v2', provider.idToken({ claims: { aud: ['a', 'b'] } })), 401);
    expect(told()[0]).to.deep.include({ kind: 'bearer token', differs: 'aud', expected: ['atrium'], given: ['a', 'b'] });
  });

  it('names a slash at the end of the issuer in a sentence of its own', async () => {
    const { provider, service } = party();
    const told = listen();
    provider.misbehave({ frontChannel: { claims: { iss: `${provider.issuer}/` } } });
    expectStatus((await logIn(service, { flow: 'hybrid' })).callback, 401, 'id_token');
    await new Browser(service.url).info('v2', provider.idToken({ claims: { iss: `${provider.issuer}/` } }));
    expect(told().map(({ kind }) => kind)).to.deep.equal(['ID token', 'bearer token']);
    for (const { msg, given } of told()) {
      expect(msg).to.include('by a slash at the end');
      expect(given).to.equal(`${provider.issuer}/`);
    }
  });

  it('is written once a minute for each kind, in few words, and never with the token', async () => {
    const { cluster, provider, service } = party();
    cluster.clock.freeze();
    const told = listen();
    const tokens = Array.from({ length: 30 }, (_, index) =>
      provider.idToken({ claims: { aud: [`other-${index}-${'x'.repeat(5000)}`], jti: String(index) } }),
    );
    for (const token of tokens) await new Browser(service.url).info('v2', token);
    expect(told()).to.have.length(1);
    cluster.clock.advance(61);
    await new Browser(service.url).info('v2', provider.idToken({ claims: { aud: 'other' } }));
    expect(told()).to.have.length(2);
    const text = JSON.stringify(told());
    expect(text).to.not.match(tokenInText).and.to.not.include('jane');
    expect(text.length).to.be.below(2000);
  });

  it('does not mention tokens that have expired', async () => {
    const { provider, service } = party();
    const told = listen();
    const past = Math.floor(Date.now() / 1000) - 5000;
    expectStatus(
      await new Browser(service.url).info('v2', provider.idToken({ claims: { iat: past, exp: past + 60 } })),
      401,
      'TokenExpired',
    );
    expect(told()).to.deep.equal([]);
  });
});

describe('an issuer that calls itself by another name', () => {
  const party = relyingParty();

  for (const [what, named, sentence] of [
    ['with a slash', (issuer: string) => `${issuer}/`, 'calls itself the same with a slash at the end: write login.issuer as it does'],
    ['otherwise', (issuer: string) => `${issuer}-2`, 'the metadata is that of another issuer'],
  ] as const) {
    it(`LOG-13 is named ${what} in /readyz, without its address`, async () => {
      const { cluster } = party();
      const provider = await TestProvider.start({ tls: true });
      try {
        provider.misbehave({ metadata: { issuer: named(provider.issuer) } });
        const service = await cluster.service({ provider });
        expectStatus(await new Browser(service.url).login('v2'), 503);
        const report = await (await fetch(`${service.metricsURL}/readyz?verbose`)).text();
        expect(report).to.include(sentence).and.to.not.include(provider.origin);
      } finally {
        await provider.stop();
      }
    });
  }
});
