import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { expectOK, expectStatus } from '../relying-party/conformance/relying-party.ts';
import { logout, refresh } from '../sessions/support.ts';
import { type IssuerProfile, profiles } from './issuer-profiles.ts';
import { logIn, renewPayloadOf, userInfoOf } from './provider/browser.ts';
import { TestProvider } from './provider/provider.ts';
import { LoginCluster, type Service } from './support.ts';

/** Issuers that docs/issuers.md lists. */
describe('a login at an issuer of the field, played by a scripted one', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ clientSecret: 'a-secret', now: cluster.clock.now }));

  for (const [name, profile] of Object.entries(profiles))
    for (const storage of ['cookie', 'local'] as const)
      it(`cases/17 works with ${name}, with storage ${storage} (cases/18, cases/19)`, async () => {
        provider.misbehave(profile.plays);
        provider.person = profile.person;
        const service = await cluster.service({ provider, config: { login: { perMinute: 1_000_000, ...profile.login } } });
        await expectWhole(service, profile, storage);
        await service.stop();
      });

  it('cases/17 describes each of them in docs/issuers.md', () => {
    const page = readFileSync(new URL('../../../docs/issuers.md', import.meta.url), 'utf8');
    for (const name of Object.keys(profiles)) expect(page).to.match(new RegExp(`^(?:## ${name}$|\\| ${name} )`, 'm'));
  });
});

async function expectWhole(service: Service, { expected }: IssuerProfile, storage: 'cookie' | 'local'): Promise<void> {
  const { browser, callback } = await logIn(service, { storage });
  expectOK(callback);
  const { token } = userInfoOf(callback).ext;
  const idToken = token?.id_token;
  const { name, groups } = userInfoOf(await browser.info('v2', token?.access_token));
  expect({ name, groups }).to.deep.equal({ name: expected.name, groups: expected.groups });
  const renewed = await refresh(browser, token?.refresh_token ?? '');
  // Without a refresh token, a session continues unchanged until its token ends.
  if (!expected.isRenewed && storage === 'local') expectStatus(renewed, 401);
  else expectOK(renewed);
  const { access_token: next, refresh_token: handle = '' } = renewed.status === 200 ? renewPayloadOf(renewed) : (token ?? {});
  expect(userInfoOf(await browser.info('v2', next)).groups).to.deep.equal(expected.groups);
  const left = await browser.request('/api/v2/token/logout', {
    method: 'POST',
    body: new URLSearchParams({ refresh_token: handle, ...(idToken && { id_token: idToken }) }),
  });
  expectOK(left);
  const address = /<([^>]*)>/.exec(left.headers.get('link') ?? '')?.[1];
  expect(address && [...new URL(address).searchParams.keys()].sort()).to.deep.equal(expected.logout);
  expectStatus(await browser.info('v2', next), 401);
  expectStatus(await logout(browser, handle), 401);
}
