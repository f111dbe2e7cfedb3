/** Recent or stronger logins at an external issuer, which may ignore the request (RFC 9470, OpenID Connect Core 3.1.2.1). */

import { expect } from 'chai';
import { z } from 'zod';
import { forSuite } from '../../support/for-suite.ts';
import { logIn } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster } from '../login/support.ts';

const failure = z.object({ details: z.object({ causes: z.array(z.object({ reason: z.string() })) }) });
const seconds = () => Math.floor(Date.now() / 1000);

describe('a step-up at an external issuer', () => {
  const provider = forSuite(() => TestProvider.start());
  const cluster = forSuite(() => LoginCluster.start());
  const service = forSuite(() => cluster.service({ provider }));
  const asked = async (parameters: Record<string, string>, claims: Record<string, unknown>) => {
    provider.misbehave({ idToken: { claims } });
    const { callback, login } = await logIn(service, { parameters });
    return { callback, login };
  };
  const refusalOf = async (parameters: Record<string, string>, claims: Record<string, unknown>) => {
    const { callback } = await asked(parameters, claims);
    return `${callback.status} ${failure.safeParse(callback.body).data?.details.causes[0]?.reason}`;
  };

  for (const [what, parameters, claims] of [
    ['an old login', { max_age: '60' }, () => ({ auth_time: seconds() - 200 })],
    ['a login that does not say when it was', { max_age: '60' }, () => ({ auth_time: undefined })],
    ['a weak login', { acr_values: 'gold' }, () => ({ auth_time: seconds(), acr: 'silver' })],
    ['a login that does not say what it is worth', { acr_values: 'gold' }, () => ({ auth_time: seconds(), acr: undefined })],
  ] as const)
    it(`MFA-14 refuses ${what}`, async () => {
      expect(await refusalOf(parameters, claims())).to.equal('401 StepUpNotMet');
    });

  it('MFA-13 refuses a login time in the future', async () => {
    expect(await refusalOf({ max_age: '60' }, { auth_time: seconds() + 3600 })).to.equal('401 StepUpNotMet');
  });

  for (const [what, parameters, claims] of [
    ['that is fresh', { max_age: '3600' }, () => ({ auth_time: seconds() - 30 })],
    ['that has one of the values', { acr_values: 'gold platinum' }, () => ({ acr: 'platinum' })],
    ['by a passkey, where two factors are wanted', { acr_values: 'urn:atrium:acr:2' }, () => ({ acr: 'phr' })],
    ['of any age, where none is asked for', {}, () => ({ auth_time: 1, acr: 'silver' })],
  ] as const)
    it(`accepts a login ${what}`, async () => {
      const { callback } = await asked(parameters, claims());
      expect(callback.status).to.equal(200);
    });

  it('passes its parameters on', async () => {
    const { login } = await asked({ max_age: '300', acr_values: 'gold' }, { auth_time: seconds(), acr: 'gold' });
    const { auth_url } = z.object({ auth_url: z.string() }).parse(login.body);

    expect(new URL(auth_url).searchParams.get('max_age')).to.equal('300');
    expect(new URL(auth_url).searchParams.get('acr_values')).to.equal('gold');
  });
});
