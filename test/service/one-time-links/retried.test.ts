/** Links by mail through a mail server that takes them later. */
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { nameOf } from '../users/a-user.ts';
import { MailServer } from './mail-server.ts';
import { linksOf, Office, passwordForm, visit } from './office.ts';

const password = 'correct horse';
const emails = ['jane', 'joe', 'ann', 'ben', 'manager'].map((name) => `${name}@example.com`);
const [jane = '', joe = '', ann = '', ben = '', manager = ''] = emails;
const minuteMs = 60_000;

describe('a link by mail that the mail server takes later', () => {
  let aheadMs = 0;
  const free = forSuite(
    async () => ({ port: await freePort() }),
    () => undefined,
  );
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails,
      password,
      now: () => new Date(Date.now() + aheadMs),
      smtp: { host: '127.0.0.1', port: free.port, from: 'Atrium <no-reply@example.com>', name: 'console.example.com' },
    }),
  );
  const mailServer = forSuite(
    () =>
      MailServer.start({
        port: free.port,
        key: service.cluster.serving.key,
        cert: service.cluster.serving.certificate,
        greylisted: { [jane]: 4, [joe]: 3, [ann]: 3 },
        refused: { [ben]: 451 },
      }),
    (one) => one.stop(),
  );
  const office = forSuite(
    () => Office.open(service, manager, password),
    () => undefined,
  );
  beforeEach(() => {
    aheadMs = 0;
  });

  const mailLink = async (email: string) =>
    expect((await office.call('POST', linksOf(email), { kind: 'password', mail: true })).status).to.equal(202);
  const outcomesOf = (email: string) =>
    service.lines
      .filter((line) => line.includes('"LinkMailed"'))
      .map((line) => JSON.parse(line))
      .filter(({ target }) => target === nameOf(email))
      .map(({ outcome, reason }) => `${outcome} ${reason}`);
  const untilSettled = (email: string) =>
    eventually(
      async () => outcomesOf(email),
      (all) => all.length > 0,
    );
  const mailsTo = (email: string) => mailServer.mails.filter(({ to }) => to.includes(email));
  /** Passes minutes. The mail to another user, which is put off for a second, wakes the queue. */
  const passMinutes = async (minutes: number) => {
    const before = mailServer.refusals(ben);
    await mailLink(ben);
    await mailServer.until(() => mailServer.refusals(ben) > before);
    aheadMs += minutes * minuteMs;
  };

  it('arrives after minutes (case 75), from a client with a name (case 76)', async () => {
    await mailLink(jane);
    await mailServer.until(() => mailServer.refusals(jane) === 3);
    expect(outcomesOf(jane)).to.deep.equal([]);
    await passMinutes(1);
    await mailServer.until(() => mailServer.refusals(jane) === 4);
    await passMinutes(4);
    await mailServer.until(() => mailsTo(jane).length === 1);

    expect(await untilSettled(jane)).to.deep.equal(['success Password']);
    const [mail] = mailsTo(jane);
    expect(mail?.ehlo).to.equal('console.example.com');
    expect((await visit(service, mail?.link ?? '', passwordForm('quite another staple'))).status).to.equal(200);
  });

  it('is not sent after its expiry', async () => {
    await mailLink(joe);
    await mailServer.until(() => mailServer.refusals(joe) === 3);
    await passMinutes(31);
    expect(await untilSettled(joe)).to.deep.equal(['failure NotSent']);
    expect(mailsTo(joe)).to.deep.equal([]);
  });

  it('is not sent after it was revoked', async () => {
    await mailLink(ann);
    await mailServer.until(() => mailServer.refusals(ann) === 3);
    expect((await office.call('DELETE', linksOf(ann))).status).to.equal(204);
    await passMinutes(2);
    expect(await untilSettled(ann)).to.deep.equal(['failure NotSent']);
    expect(mailsTo(ann)).to.deep.equal([]);
  });
});
