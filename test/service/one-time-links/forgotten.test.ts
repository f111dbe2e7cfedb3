import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { MailServer, type MailServerOptions } from './mail-server.ts';
import { linksOf, Office, passwordForm, statusOf, visit } from './office.ts';

const mergePatch = { 'content-type': 'application/merge-patch+json' };
const password = 'correct horse';
const fresh = 'quite another staple';
const emails = ['jane', 'joe', 'ann', 'ben', 'manager'].map((name) => `${name}@example.com`);
const [jane = '', joe = '', ann = '', ben = '', manager = ''] = emails;

describe('a forgotten password', () => {
  const files = forSuite(
    async () => {
      const directory = await mkdtemp(join(tmpdir(), 'atrium-mail-'));
      const userFile = join(directory, 'user');
      const passwordFile = join(directory, 'password');
      await writeFile(userFile, 'atrium\n');
      await writeFile(passwordFile, 'mail secret\n');
      return { directory, userFile, passwordFile, port: await freePort() };
    },
    ({ directory }) => rm(directory, { recursive: true }),
  );
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails,
      password,
      trustedProxies: ['127.0.0.1'],
      smtp: {
        host: '127.0.0.1',
        port: files.port,
        from: 'Atrium <no-reply@example.com>',
        userFile: files.userFile,
        passwordFile: files.passwordFile,
      },
    }),
  );
  let mailServer: MailServer | undefined;
  const mailServerOf = async (options: Partial<MailServerOptions> = {}) => {
    await mailServer?.stop();
    const { key, certificate: cert } = service.cluster.serving;
    mailServer = await MailServer.start({ port: files.port, key, cert, user: 'atrium', password: 'mail secret', ...options });
    return mailServer;
  };
  after(() => mailServer?.stop());

  /** Number of the network of a request: each has its own, because networks are throttled. */
  let networks = 0;
  const forget = async (email: string, headers: Record<string, string> = {}) => {
    networks += 1;
    const response = await service.request('/identity/forgotten', {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        'accept-language': 'en',
        'x-forwarded-for': `10.1.${networks >> 8}.${networks & 255}`,
        ...headers,
      },
      body: new URLSearchParams({ email }).toString(),
    });
    return { status: response.status, body: await response.text() };
  };
  const mayBeMailedAgain = (email: string) =>
    service.admin.call('PATCH', `/apis/auth.platform.io/v1/users/${nameOf(email)}/status`, { status: { lastMailTime: null } }, mergePatch);

  before(async () => {
    const ldap = aUser('ldap@example.com');
    await service.admin.apply(
      { ...ldap, spec: { ...Object(ldap.spec), connector_type: 'ldap', connector_id: 'ldap' } },
      aUser('off@example.com', { is_disabled: true }),
      aUser('plain'),
    );
  });

  it('is mended by a link in a mail, over TLS, in the language of the page', async () => {
    const server = await mailServerOf();
    const login = await service.request('/api/v2/token/login?token_storage=cookie');
    expect(login.status).to.equal(200);

    expect((await forget(jane, { 'accept-language': 'en' })).status).to.equal(200);
    const mail = await server.mail();

    expect(mail.to).to.deep.equal([jane]);
    expect([mail.isSecure, mail.user]).to.deep.equal([true, 'atrium']);
    expect(mail.headers).to.contain('From: Atrium <no-reply@example.com>').and.to.contain('Auto-Submitted: auto-generated');
    expect(mail.headers).to.contain('Subject: Choose a new password for Atrium');
    expect((await visit(service, mail.link, passwordForm(fresh))).status).to.equal(200);
    expect((await service.logIn(jane, fresh)).status).to.equal(200);
    await eventually(
      async () => service.lines.filter((line) => line.includes('"LinkMailed"')),
      (lines) => lines.length === 1,
    );
    expect(service.lines.filter((line) => line.includes(mail.link.slice(-40)))).to.deep.equal([]);
    expect((await server.mail(1)).headers).to.contain('Subject: Your login at Atrium has changed');
  });

  it('REC2-03 is mended by a mail to the address of the login alone', async () => {
    const server = await mailServerOf();
    const office = await Office.open(service, manager, password);
    const { status } = await office.call('PATCH', `/auth/v1/users/${nameOf(joe)}`, { spec: { mail: 'evil@example.com' } });
    expect(status).to.equal(200);

    expect((await forget('evil@example.com')).status).to.equal(200);
    expect((await forget(joe)).status).to.equal(200);
    const asked = await office.call('POST', linksOf(joe), { kind: 'password', mail: true });
    expect(asked.status).to.equal(202);
    expect(asked.body).to.have.all.keys('expiresAt');
    await server.mail(1);

    expect(server.mails.map(({ to }) => to)).to.deep.equal([[joe], [joe]]);
  });

  it('REC2-01 is answered alike for each address, before anything is asked about it', async () => {
    const server = await mailServerOf();
    for (const email of [jane, joe]) await mayBeMailedAgain(email);
    const answers = new Set<string>();
    for (const email of [
      jane,
      'absent@example.com',
      'off@example.com',
      'ldap@example.com',
      'plain',
      '',
      'not an address',
      `${'x'.repeat(300)}@example.com`,
    ]) {
      const { status, body } = await forget(email);
      answers.add(`${status} ${body}`);
    }
    expect([...answers]).to.have.length(1);
    expect([...answers][0]).not.to.contain('@example');
    await server.mail();
    await forget(joe);
    await server.mail(1);

    expect(server.mails.map(({ to }) => to)).to.deep.equal([[jane], [joe]]);
    for (const email of ['off@example.com', 'ldap@example.com', 'plain'])
      expect(await statusOf(service, email)).not.to.have.property('lastMailTime');
  });

  it('REC2-07 sends one mail in five minutes for an account, and takes no address with a line break', async () => {
    const server = await mailServerOf();
    await mayBeMailedAgain(ann);
    await Promise.all(Array.from({ length: 60 }, () => forget(ann)));
    for (const email of [`${ann}\r\nBcc: evil@example.com`, `${ann}\nevil@example.com`, `${ann},evil@example.com`, `<${ann}>`])
      expect((await forget(email)).status).to.equal(200);
    await forget(ben);
    // Mails of two accounts arrive in any order.
    await server.until(() => [ann, ben].every((email) => server.mails.some(({ to }) => to.includes(email))));

    expect(server.mails.map(({ to }) => to).toSorted()).to.deep.equal([[ann], [ben]]);
    expect(service.lines.filter((line) => line.includes('evil@example.com'))).to.deep.equal([]);
  });

  it('REC2-07 is answered while the mail server hangs, puts mails off or has no TLS', async () => {
    const silent = await mailServerOf({ hangs: true });
    await mayBeMailedAgain(jane);
    expect((await forget(jane)).status).to.equal(200);
    await silent.until(() => silent.count('connected') > 0);
    expect((await forget('absent@example.com')).status).to.equal(200);

    const later = await mailServerOf({ putsOff: 2 });
    await mayBeMailedAgain(joe);
    await forget(joe);
    await later.until(() => later.mails.some(({ to }) => to.includes(joe)));
    expect(later.count('put off')).to.equal(2);

    const plain = await mailServerOf({ offersTLS: false });
    await mayBeMailedAgain(ann);
    expect((await forget(ann)).status).to.equal(200);
    await eventually(
      async () => service.lines.some((line) => line.includes('"NotSent"')),
      (isTold) => isTold,
    );
    expect(plain.mails).to.deep.equal([]);
  });
});

describe('the form for a forgotten password', () => {
  const perMinute = 5;
  const smtp = { host: '127.0.0.1', port: 1, from: 'no-reply@example.com' };
  const service = forSuite(() => startEmbeddedLogin({ emails: [], password, smtp, login: { perMinute }, trustedProxies: ['127.0.0.1'] }));
  const send = async (network: string) => {
    const headers = { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': network };
    const response = await service.request('/identity/forgotten', { method: 'POST', headers, body: new URLSearchParams({ email: jane }) });
    await response.arrayBuffer();
    return response.status;
  };

  it('REC2-07 is bounded for each network, like the other pages of the embedded issuer', async () => {
    const statuses = await Promise.all(Array.from({ length: 4 * perMinute }, () => send('203.0.113.1')));

    expect(statuses).not.to.include(429);
    expect(await send('203.0.113.1')).to.equal(429);
    expect(await send('203.0.113.2')).to.equal(200);
  });
});
