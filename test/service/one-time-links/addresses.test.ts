/** Addresses that RFC 5321 allows, from the creation of a user to the mail and the login. */
import { domainToASCII } from 'node:url';
import { expect } from 'chai';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { nameOf } from '../users/a-user.ts';
import { MailServer } from './mail-server.ts';
import { linksOf, Office } from './office.ts';

const password = 'correct horse battery';
const manager = 'manager@example.com';

const addresses = [
  'jane@example.com',
  'Jane.Doe@Example.COM',
  'jane+shop@example.com',
  'jane+a+b=c@example.com',
  "o'brien@example.com",
  "d'arcy+ops@example.com",
  'jane_doe@example.com',
  'jane-doe@example.com',
  'a@b.co',
  '1234567890@example.com',
  '_@example.com',
  '-@example.com',
  'jane!uucp@example.com',
  'jane%relay@example.com',
  'jane#1@example.com',
  'jane$@example.com',
  'jane&joe@example.com',
  'jane*@example.com',
  'jane?@example.com',
  'jane^@example.com',
  '{jane}@example.com',
  'jane|joe@example.com',
  '~jane@example.com',
  '=?utf-8?q?jane?=@example.com',
  `${'a'.repeat(64)}@example.com`,
  `jane@${'a'.repeat(63)}.${'b'.repeat(63)}.example.com`,
  `jane@${`${'a'.repeat(59)}.`.repeat(3)}example.com`,
  'jane@xn--bcher-kva.example',
  'jane@sub.sub.sub.example.com',
  'jane@localhost',
  'jane@123.example.com',
  'jane@example.museum',
];

/** Addresses of standards that no record has, and other texts. */
const refused: [title: string, email: string][] = [
  ['a quoted local part', '"jane doe"@example.com'],
  ['an IPv4 literal', 'jane@[192.0.2.1]'],
  ['an IPv6 literal', 'jane@[IPv6:2001:db8::1]'],
  ['a domain in Unicode', 'jane@bücher.example'],
  ['a local part in Unicode', 'jäne@example.com'],
  ['a slash', 'jane/ops@example.com'],
  ['a backtick', 'jane`@example.com'],
  ['two @', 'jane@doe@example.com'],
  ['no local part', '@example.com'],
  ['no domain', 'jane@'],
  ['a display name', 'Jane <jane@example.com>'],
  ['a scheme', 'mailto:jane@example.com'],
  ['two addresses', 'jane@example.com,joe@example.com'],
  ['a semicolon', 'jane@example.com;joe@example.com'],
  ['a comment', 'jane(work)@example.com'],
  ['a line break inside', 'jane\r\n@example.com'],
  ['a blank inside', 'jane doe@example.com'],
  ['a full-width @', 'jane＠example.com'],
  ['a length of 254', `${'a'.repeat(242)}@example.com`],
];

/** The domain ignores letter case, and the mail server of the tests shows it in Unicode. */
const asSent = (email: string): string => {
  const at = email.lastIndexOf('@') + 1;
  return email.slice(0, at) + domainToASCII(email.slice(at));
};

describe('e-mail addresses', () => {
  const free = forSuite(
    async () => ({ port: await freePort() }),
    () => undefined,
  );
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [manager],
      password,
      smtp: { host: '127.0.0.1', port: free.port, from: 'Atrium <no-reply@example.com>' },
    }),
  );
  const mailServer = forSuite(
    () => MailServer.start({ port: free.port, key: service.cluster.serving.key, cert: service.cluster.serving.certificate }),
    (one) => one.stop(),
  );
  const office = forSuite(
    () => Office.open(service, manager, password),
    () => undefined,
  );
  const other = (email: string) => (email === email.toUpperCase() ? email.toLowerCase() : email.toUpperCase());

  for (const email of addresses)
    it(`log in, get mail and are found: ${email}`, async () => {
      const made = await office.call('POST', '/auth/v1/users', { spec: { email, password } });
      expect(made.status, JSON.stringify(made.body)).to.equal(201);
      expect((await service.logIn(other(email), password)).status).to.equal(200);
      expect((await service.logIn(` ${email}\u200b`, password)).status).to.equal(200);

      const before = mailServer.mails.length;
      const { status } = await office.call('POST', linksOf(email), { kind: 'password', mail: true });
      expect(status).to.be.oneOf([201, 202, 204]);
      const mail = await mailServer.mail(before);
      expect(mail.to.map(asSent)).to.deep.equal([asSent(email)]);

      const found = await office.call('GET', `/auth/v2/users?${new URLSearchParams({ search: ` ${other(email).slice(0, 120)} ` })}`);
      expect(found.body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).to.include(nameOf(email));
      const roles = await office.call('GET', `/auth/v1/usersroles?${new URLSearchParams({ email: other(email) })}`);
      expect(roles.body).to.have.nested.property('user.name', nameOf(email));
      const selected = await office.call(
        'GET',
        `/auth/v2/users?${new URLSearchParams({ fieldSelector: `spec.email=${email.replaceAll(/[\\,=]/g, '\\$&')}` })}`,
      );
      expect(selected.body.items).to.have.lengthOf(1);
    });

  for (const [title, email] of refused)
    it(`are refused with a reason at the field: ${title}`, async () => {
      const { status, body } = await office.call('POST', '/auth/v1/users', { spec: { email, password } });
      expect(status).to.equal(422);
      expect(body.details.causes[0]).to.include({ field: 'spec.email' });
      expect(body.details.causes[0].message).to.match(/ASCII|longer than 253/);
    });

  it('have the same domain in Unicode and in ASCII for a login, a forgotten password and a look-up', async () => {
    expect((await service.logIn('jane@bücher.example', password)).status).to.equal(200);
    expect((await service.logIn('jane@BÜCHER.example', password)).status).to.equal(200);
    const roles = await office.call('GET', `/auth/v1/usersroles?${new URLSearchParams({ email: 'jane@bücher.example' })}`);
    expect(roles.body).to.have.nested.property('user.name', nameOf('jane@xn--bcher-kva.example'));
    // Full-width letters of a domain are a look-alike.
    expect((await service.logIn('jane@ｅxample.com', password)).status).not.to.equal(200);
  });
});
