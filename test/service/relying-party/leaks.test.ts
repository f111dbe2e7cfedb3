import { expect } from 'chai';
import { z } from 'zod';
import { serviceNamespace } from '../../support/cluster-admin.ts';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';

const jane = 'jane@example.com';
const password = 'canary-password-of-jane';
const wrongPassword = 'canary-password-mistyped';
const guess = 'canary-guess-at-a-token';

const userInfo = z.object({
  ext: z.object({
    token: z.object({ access_token: z.string(), id_token: z.string(), refresh_token: z.string() }).partial(),
  }),
});

/** Objects that an attacker with read access to the cluster finds, except Secrets, which hold the keys and the hashes. */
const readable = [
  '/apis/auth.platform.io/v1/users',
  '/apis/auth.platform.io/v1/revokedtokens',
  `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/sessions`,
  `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/identityrecords`,
  '/api/v1/events',
  '/api/v1/configmaps',
];

describe('secrets of a login', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [jane], password }));

  it('LEAK-01 are missing from the log at level debug, audit lines, metrics, Events and objects', async () => {
    const withSession = await service.logIn(jane, password);
    const withTokens = await service.logIn(jane, password, '?token_storage=local');
    for (const { status, body } of [withSession, withTokens]) expect(status, body).to.equal(200);
    expect((await service.logIn(jane, wrongPassword)).status).to.equal(403);
    const { refresh_token: refreshToken = '' } = userInfo.parse(JSON.parse(withTokens.body)).ext.token;
    const refreshed = await service.request(`/api/v2/token/refresh?refresh_token=${refreshToken}`);
    expect(refreshed.status).to.equal(200);
    const renewed = Object.values(z.record(z.string(), z.string()).parse(await refreshed.json()));
    await service.request('/api/v1/envs', { headers: { authorization: `Bearer ${guess}` } });
    const secrets = [password, wrongPassword, guess, ...secretsOf(withSession), ...secretsOf(withTokens), ...renewed].filter(isSecret);

    const places = new Map([['log and audit', service.lines.join('')]]);
    places.set('metrics', await (await fetch(`${service.metricsURL}/metrics`)).text());
    for (const path of readable) places.set(path, JSON.stringify((await service.admin.call('GET', path)).body));

    expect(secrets).to.have.length.above(12);
    expect(places.get('log and audit')).to.contain('LoginSucceeded').and.to.contain('LoginFailed').and.to.contain('/api/v2/token/callback');
    expect(places.get(readable[2] ?? '')).to.contain('sealed');
    const leaks = [...places].flatMap(([place, text]) =>
      secrets.filter((secret) => text.includes(secret)).map((secret) => `${place}: ${secret}`),
    );
    expect(leaks).to.deep.equal([]);
  });
});

/** Selects secrets, and not the short words and times beside them. */
const isSecret = (value: string) => value.length > 20;

function secretsOf({ browser, back, body }: Awaited<ReturnType<EmbeddedLogin['logIn']>>): string[] {
  const { ext } = userInfo.parse(JSON.parse(body));
  // Paths contain the id of an interaction, which is useless without its sealed and signed cookies.
  const cookies = browser.cookies.filter(({ name }) => !/_(log_in|resume)_/.test(name)).map(({ value }) => value);
  return [
    ...Object.values(ext.token).filter((token) => token !== undefined),
    back.searchParams.get('code') ?? '',
    back.searchParams.get('state') ?? '',
    ...cookies,
  ];
}
