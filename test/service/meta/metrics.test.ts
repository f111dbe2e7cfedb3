import { X509Certificate } from 'node:crypto';
import { expect } from 'chai';
import { SignJWT } from 'jose';
import packageJson from '../../../package.json' with { type: 'json' };
import { eventually } from '../../support/cluster-admin.ts';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { freePort } from '../../support/free-port.ts';

const password = 'correct horse battery staple';
const emails = ['jane@example.com', 'mallory@example.com'];

/** Samples by name and labels, as in the text format of Prometheus. */
async function scrape(metricsURL: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${metricsURL}/metrics`)).text();
  return Object.fromEntries(
    Array.from(text.matchAll(/^([a-z_]+(?:\{[^}]*\})?) (\S+)$/gm), ([, name = '', value]) => [name, Number(value)]),
  );
}

describe('metrics of the service', () => {
  let login: EmbeddedLogin;
  const count = async (name: string) => (await scrape(login.metricsURL))[name];

  before(async () => {
    const ldap = [{ id: 'corp', name: 'Corp', url: `ldaps://127.0.0.1:${await freePort()}`, baseDN: 'dc=example,dc=com' }];
    login = await startEmbeddedLogin({ emails, password, credentials: 'impersonate', users: { lockout: { failures: 2 }, ldap } });
  });

  after(() => login.stop());

  it('count logins by issuer and outcome, and lock-outs', async () => {
    expect(await count('atrium_logins_total{issuer="local",outcome="success"}')).to.equal(0);

    expect((await login.logIn('jane@example.com', password)).status).to.equal(200);
    for (let attempt = 0; attempt < 2; attempt += 1) await login.logIn('mallory@example.com', 'wrong');
    const { status } = await login.request('/api/v2/token/callback?code=a&state=q1YdRZsUe0xw7v3mC9kTbNfHgL5aJpVyXoE2iQuSr4D');

    const samples = await scrape(login.metricsURL);
    expect(status).to.equal(400);
    expect(samples).to.include({
      'atrium_logins_total{issuer="local",outcome="success"}': 1,
      'atrium_logins_total{issuer="local",outcome="failure"}': 2,
      'atrium_logins_total{issuer="unknown",outcome="failure"}': 1,
      atrium_user_lockouts_total: 1,
    });
    expect(login.lines.filter((line) => line.includes('"LoginSucceeded"')).map((line) => JSON.parse(line).issuer)).to.deep.equal(['local']);
  });

  it('count renewals', async () => {
    const { body } = await login.logIn('jane@example.com', password, '?token_storage=local');
    const { refresh_token: token } = JSON.parse(body).ext.token;

    expect((await login.request(`/api/v2/token/refresh?${new URLSearchParams({ refresh_token: token })}`)).status).to.equal(200);

    expect(await count('atrium_token_renewals_total{outcome="success"}')).to.equal(1);
    expect(await count('atrium_token_renewals_total{outcome="failure"}')).to.equal(0);
  });

  it('count refused tokens by reason', async () => {
    const forged = await new SignJWT({ sub: 'jane' })
      .setProtectedHeader({ alg: 'RS256', kid: 'mine' })
      .setIssuer(`${login.url}/identity`)
      .setAudience('atrium')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(await crypto.subtle.generateKey(rsa, true, ['sign', 'verify']).then(({ privateKey }) => privateKey));

    const { status } = await login.request('/api/v2/token/info', { headers: { authorization: `Bearer ${forged}` } });

    expect(status).to.equal(401);
    expect(await count('atrium_tokens_refused_total{kind="bearer_token",reason="ERR_JWKS_NO_MATCHING_KEY"}')).to.equal(1);
  });

  it('observe calls to the issuer by outcome', async () => {
    expect(await count('atrium_issuer_request_duration_seconds_count{issuer="local",outcome="200"}')).to.be.greaterThan(0);
  });

  it('count synchronisations of a directory that fails', async () => {
    const runs = 'atrium_directory_sync_runs_total{connector="corp",outcome="failure"}';
    expect(await count(runs)).to.equal(0);

    const headers = { authorization: `Bearer ${await login.cluster.token('admin')}`, 'content-type': 'application/json' };
    const { status } = await login.request('/auth/v1/users/sync', { method: 'PUT', headers, body: '{}' });

    expect(status).to.equal(503);
    expect(await scrape(login.metricsURL)).to.include({
      [runs]: 1,
      'atrium_directory_sync_runs_total{connector="corp",outcome="success"}': 0,
    });
  });

  it('observe controllers on the leader', async () => {
    const name = 'atrium_controller_reconcile_duration_seconds_count{controller="user-states"}';
    await eventually(
      () => count(name),
      (reconciled) => (reconciled ?? 0) >= emails.length,
    );
    const samples = await scrape(login.metricsURL);
    expect(samples).to.have.property('atrium_controller_queue_depth{controller="user-states"}').that.is.a('number');
    expect(samples).to.include({
      'atrium_controller_reconcile_failures_total{controller="user-states"}': 0,
      'atrium_controller_backlog_done{controller="user-states"}': 0,
    });
  });

  it('report the end of the certificate and the build', async () => {
    const samples = await scrape(login.metricsURL);
    const expiry = new X509Certificate(login.cluster.serving.certificate).validToDate.getTime() / 1000;

    expect(samples).to.include({
      'atrium_certificate_expiry_timestamp_seconds{certificate="server"}': expiry,
      [`atrium_build_info{version="${packageJson.version}",revision="unknown",node="${process.version}"}`]: 1,
    });
  });

  it('follow the naming rules of Prometheus, and hold no name of a user', async () => {
    const text = await (await fetch(`${login.metricsURL}/metrics`)).text();
    const types = [...text.matchAll(/^# TYPE (atrium_\S+) (\S+)$/gm)].map(([, name = '', type = '']) => ({ name, type }));

    expect(types).to.have.length.greaterThan(20);
    for (const { name, type } of types) {
      expect(name, type).to.match(type === 'counter' ? /_total$/ : /(?<!_total)$/);
      if (type === 'histogram') expect(name).to.match(/_seconds$/);
      expect(text).to.match(new RegExp(`^# HELP ${name} [A-Z].*\\.$`, 'm'));
    }
    expect(text).to.include('# TYPE atrium_watch_restarts_total counter');
    expect(text).not.to.match(/jane|mallory|example\.com/);
  });
});

const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
