/** Mails to users about their logins, and notices at the next login. */
import { expect } from 'chai';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { Desk, pathOf } from '../factors/desk.ts';
import { MailServer } from './mail-server.ts';
import { Office, passwordForm, statusOf, visit } from './office.ts';

const password = 'correct horse';
const fresh = 'quite another staple';
const emails = ['jane', 'joe', 'ann', 'manager'].map((name) => `${name}@example.com`);
const [jane = '', joe = '', ann = '', manager = ''] = emails;

describe('notices by mail', () => {
  const free = forSuite(
    async () => ({ port: await freePort() }),
    () => undefined,
  );
  const service = forSuite(() =>
    startEmbeddedLogin({ emails, password, smtp: { host: '127.0.0.1', port: free.port, from: 'Atrium <no-reply@example.com>' } }),
  );
  const mailServer = forSuite(
    () => MailServer.start({ port: free.port, key: service.cluster.serving.key, cert: service.cluster.serving.certificate }),
    (server) => server.stop(),
  );
  const office = forSuite(
    () => Office.open(service, manager, password),
    () => undefined,
  );
  const kept = async (email: string) =>
    ((await statusOf(service, email)).notices as { type: string }[] | undefined)?.map(({ type }) => type);
  const textsTo = (email: string) => mailServer.mails.filter(({ to }) => to.includes(email)).map(({ body }) => body);

  it('report factors that are set up, removed and reset', async () => {
    const desk = await Desk.of(service, jane);
    await desk.enrol();
    await mailServer.until(() => textsTo(jane).length === 2);
    expect(textsTo(jane).join()).to.contain('An authenticator app was set up.').and.to.contain('New recovery codes were created.');
    const [first] = mailServer.mails;
    expect(first?.isSecure).to.equal(true);
    expect(first?.headers).to.contain('has changed').and.to.contain('auto-generated');
    expect(first?.link).to.equal('');

    const { items } = await desk.factors();
    const { id } = items.find(({ type }) => type === 'TOTP') ?? { id: '' };
    expect((await desk.call('DELETE', `${pathOf(jane)}/${id}`)).status).to.equal(204);
    await mailServer.until(() => textsTo(jane).length === 3);
    expect((await office.call('DELETE', pathOf(jane))).status).to.equal(204);
    await mailServer.until(() => textsTo(jane).length === 4);

    expect(await kept(jane)).to.deep.equal(['TOTPAdded', 'RecoveryCodesAdded', 'FactorRemoved', 'FactorsReset']);
    expect((await service.logIn(jane, password)).status).to.equal(200);
    expect(await kept(jane)).to.equal(undefined);
  });

  it('report a password that was set by a link, but no invitation', async () => {
    expect((await visit(service, await office.makeLink(joe), passwordForm(fresh))).status).to.equal(200);
    await mailServer.until(() => textsTo(joe).length === 1);
    expect(textsTo(joe)[0]).to.contain('The password was set by a link.').and.not.to.contain(fresh);
    expect(await kept(joe)).to.deep.equal(['PasswordSetByLink']);
    expect((await visit(service, await office.makeLink(ann, { kind: 'invite' }), passwordForm(fresh))).status).to.equal(200);
    expect(await kept(ann)).to.equal(undefined);
  });

  it('fail nothing when the mail server is gone', async () => {
    await mailServer.stop();
    expect((await visit(service, await office.makeLink(joe), passwordForm('third battery staple'))).status).to.equal(200);
    expect((await service.logIn(joe, 'third battery staple')).status).to.equal(200);
  });
});
