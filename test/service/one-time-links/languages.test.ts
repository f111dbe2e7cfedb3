/** Languages of an installation on login pages and in mails (docs/decisions/0212-languages-that-an-installation-adds.md, 0300). */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { configMap, publicLabel } from '../console/objects.ts';
import { MailServer } from './mail-server.ts';
import { linksOf, Office } from './office.ts';

const password = 'correct horse';
const emails = ['jane', 'manager'].map((name) => `${name}@example.com`);
const [jane = '', manager = ''] = emails;

const arabic = {
  'identity.links.forgottenTitle': 'نسيت كلمة المرور',
  'identity.links.send': '<b>إرسال</b>',
  // The translation lacks the address of the English text.
  'identity.logInTo': 'تسجيل الدخول',
  'identity.links.sent': 'a\u0000b',
  'mail.password.subject': 'كلمة مرور جديدة في {{title}}',
  'mail.password.text': 'افتح هذا الرابط: {{url}}\nحتى {{until}}\n{{email}} {{title}}\n',
  'mail.invite.text': 'No link for {{email}} at {{title}}, until {{until}}',
  'users.title': 'المستخدمون',
};

describe('a language that an installation adds', () => {
  const free = forSuite(
    async () => ({ port: await freePort() }),
    () => undefined,
  );
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails,
      password,
      languages: ['ar', 'en', 'de', 'fr'],
      smtp: { host: '127.0.0.1', port: free.port, from: 'Atrium <no-reply@example.com>' },
    }),
  );
  const mailServer = forSuite(
    () => MailServer.start({ port: free.port, key: service.cluster.serving.key, cert: service.cluster.serving.certificate }),
    (server) => server.stop(),
  );
  const office = forSuite(
    () => Office.open(service, manager, password),
    () => undefined,
  );
  const forgotten = async (language: string) =>
    (await service.request('/identity/forgotten', { headers: { accept: 'text/html', 'accept-language': language } })).text();
  const addWords = (name: string, words: Record<string, unknown>, labels: Record<string, string> = publicLabel) =>
    service.admin.apply(
      configMap(
        name,
        { ...labels, 'console.platform.io/plugin': name },
        {
          annotations: { 'console.platform.io/path': 'locales' },
          data: Object.fromEntries(Object.entries(words).map(([tag, texts]) => [`${tag}.json`, JSON.stringify(texts)])),
        },
      ),
    );

  before(async () => {
    const german = { 'identity.links.forgottenTitle': 'Never', 'identity.links.send': 'Never' };
    await addWords('secret', { fr: { 'identity.links.forgottenTitle': 'Jamais' } }, {});
    await addWords('words', { ar: arabic, de: german, es: { 'identity.links.forgottenTitle': 'Nunca' } });
    await eventually(
      () => forgotten('ar'),
      (body) => body.includes('lang="ar"'),
    );
  });

  it('is on the pages of the login, from the right, as text and never as HTML', async () => {
    const body = await forgotten('ar-EG, en;q=0.5');

    expect(body).to.contain('<html lang="ar" dir="rtl">');
    expect(body).to.contain('<h1>نسيت كلمة المرور</h1>');
    expect(body).to.contain('&lt;b&gt;إرسال&lt;/b&gt;').and.not.to.contain('<b>');
  });

  it('has English for texts that it lacks', async () => {
    expect(await forgotten('ar')).to.contain('Enter your e-mail address for the login.');
  });

  it('comes first where the configuration names it first', async () => {
    expect(await forgotten('nl')).to.contain('lang="ar"');
  });

  it('never replaces a language of the product', async () => {
    const body = await forgotten('de');

    expect(body).to.contain('lang="de"').and.to.contain('<h1>Passwort vergessen</h1>').and.not.to.contain('Never');
  });

  it('needs the configuration to name it, and words that everyone may read', async () => {
    for (const language of ['es', 'fr'])
      expect(await forgotten(`${language}, en;q=0.5`))
        .to.contain('lang="en"')
        .and.not.to.match(/Jamais|Nunca/);
  });

  it('is in a mail that its page asks for, with the link; texts with control characters are ignored', async () => {
    const response = await service.request('/identity/forgotten', {
      method: 'POST',
      headers: {
        'accept-language': 'ar',
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        accept: 'text/html',
      },
      body: new URLSearchParams({ email: jane }).toString(),
    });
    const { body, headers, link } = await mailServer.mail();

    expect(await response.text())
      .to.contain('lang="ar"')
      .and.to.contain('If an account with this address');
    expect(body).to.contain('افتح هذا الرابط').and.to.contain(jane);
    expect(headers).to.match(/^subject: =\?utf-8\?/im);
    expect(link).to.match(new RegExp(`^${service.url}/identity/link/`));
  });

  it('is in a mail that an administrator sends, and a text without the link is ignored', async () => {
    const { status } = await office.call('POST', linksOf(jane), { kind: 'invite', mail: true });
    const { body, link } = await mailServer.mail(1);

    expect(status).to.equal(202);
    expect(body).to.contain('To choose your password, open this link');
    expect(link).to.match(new RegExp(`^${service.url}/identity/link/`));
  });
});
