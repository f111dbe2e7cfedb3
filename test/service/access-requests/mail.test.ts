/** Mail to approvers and requesters. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { startServer } from '../../support/server.ts';
import { aNamespace, applyKnown } from '../bindings/support.ts';
import { MailServer, type TakenMail } from '../one-time-links/mail-server.ts';
import { ServiceAuthority } from '../plugins/plugin-service.ts';
import { aUser } from '../users/a-user.ts';
import { AccessRequests, aPolicy, type Request, user } from './support.ts';

const subjects = [user('alice')];
const approvers = [user('bob'), user('carol'), user('alice')];
const [alice, bob, carol] = ['alice@example.com', 'bob@example.com', 'carol@example.com'];
const oneHourMs = 3_600_000;

describe('mail about access requests', () => {
  let ahead = 0;
  const free = forSuite(
    async () => ({ port: await freePort(), ...(await (await ServiceAuthority.create()).issue('localhost')) }),
    () => undefined,
  );
  const mailServer = forSuite(
    () => MailServer.start({ port: free.port, key: free.key, cert: free.cert, offersTLS: false }),
    (one) => one.stop(),
  );
  const server = forSuite(() =>
    startServer({
      now: () => new Date(Date.now() + ahead),
      config: {
        features: { accessRequests: true },
        server: { publicURL: 'https://console.example.com' },
        smtp: { host: '127.0.0.1', port: free.port, tls: 'none', from: 'Atrium <no-reply@example.com>' },
        console: { languages: [{ id: 'de', name: 'Deutsch' }] },
      },
    }),
  );
  let access: AccessRequests;
  before(async () => {
    access = new AccessRequests(server);
    await server.kubernetes.apply(aNamespace('shop'));
    await applyKnown(server, ...['alice', 'bob', 'carol', 'viewer'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
    await access.apply(aPolicy('shop', { subjects, approvers }));
  });
  const mailsTo = (email: string, { metadata: { name } }: Request): readonly TakenMail[] =>
    mailServer.mails.filter(({ to, link }) => to.includes(email) && link.endsWith(`/requests/${name}`));
  const until = (email: string, request: Request, text: string): Promise<TakenMail> =>
    eventually(
      async () => mailsTo(email, request).find(({ body }) => body.includes(text)),
      (mail) => mail !== undefined,
    ) as Promise<TakenMail>;
  const untilNoted = (request: Request, event: string) =>
    eventually(
      () => access.stored(request),
      ({ status }) => status?.notices?.some((one) => one.event === event) === true,
    );

  it('asks approvers, apart from the requester, and tells the requester of the access and of its end', async () => {
    const request = await access.asked({ as: 'alice' });
    for (const email of [bob, carol]) {
      const { link, body, headers } = await until(email, request, 'alice bittet um die Rolle view in shop für 10 Minuten');
      expect(link).to.equal(`https://console.example.com/requests/${request.metadata.name}`);
      expect(body).not.to.contain('the shop is down');
      expect(headers).to.contain('auto-generated');
    }
    await access.decide({ as: 'bob' }, request);
    await until(alice, request, 'wurde genehmigt');
    await access.end({ as: 'bob' }, request);
    await until(alice, request, 'Ein Benutzer hat ihn beendet.');
    await untilNoted(request, 'mail-ended-1');
    expect(mailsTo(alice, request)).to.have.length(2);
    expect(mailsTo(bob, request)).to.have.length(1);
    const { status } = await access.stored(request);
    expect(status?.notices?.every(({ outcome }) => outcome === 'Sent')).to.equal(true);
  });

  it('tells the requester of a denial, and not of an end by the requester', async () => {
    const denied = await access.asked({ as: 'alice' });
    await access.decide({ as: 'carol' }, denied, false);
    await until(alice, denied, 'carol hat Ihren Antrag');
    const withdrawn = await access.asked({ as: 'alice' });
    await untilNoted(withdrawn, 'mail-requested-1');
    await access.end({ as: 'alice' }, withdrawn);
    const later = await access.asked({ as: 'alice' });
    await untilNoted(later, 'mail-requested-1');
    await access.end({ as: 'alice' }, later);
    expect(mailsTo(alice, withdrawn)).to.deep.equal([]);
  });

  it('sends an approver twenty mails an hour, and then one about all that still wait', async () => {
    await access.apply(aPolicy('busy', { subjects, approvers: [user('viewer')] }));
    const viewer = 'viewer@example.com';
    const ask = () => access.asked({ as: 'alice' }, { policy: 'busy' });
    for (let count = 0; count < 20; count += 1) {
      const request = await ask();
      await until(viewer, request, 'bittet um');
      await access.end({ as: 'alice' }, request);
    }
    const gone = await ask();
    await untilNoted(gone, 'mail-requested-1');
    await access.end({ as: 'alice' }, gone);
    const last = await ask();
    await untilNoted(last, 'mail-requested-1');
    expect([...mailsTo(viewer, gone), ...mailsTo(viewer, last)]).to.deep.equal([]);
    ahead += oneHourMs;
    await server.kubernetes.apply(aPolicy('poke', { subjects: [user('nobody')] }));
    const digest = await eventually(
      async () => mailServer.mails.find(({ to, link }) => to.includes(viewer) && link.endsWith('example.com/requests')),
      (mail) => mail !== undefined,
    );
    expect(digest?.body).to.contain('auf Ihre Entscheidung: 1.');
    await access.end({ as: 'alice' }, last);
  });
});
