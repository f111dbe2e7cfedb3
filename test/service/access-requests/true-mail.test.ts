/** Mail about access requests that is true when it is sent, and outlives greylisting. */
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { asService, eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { startServer } from '../../support/server.ts';
import { aNamespace, applyKnown } from '../bindings/support.ts';
import { MailServer, type MailServerOptions } from '../one-time-links/mail-server.ts';
import { ServiceAuthority } from '../plugins/plugin-service.ts';
import { aUser } from '../users/a-user.ts';
import { AccessRequests, aliceAsksBob, aPolicy, mergePatch, type Request, requestsPath, user } from './support.ts';

const [alice, bob, carol] = ['alice@example.com', 'bob@example.com', 'carol@example.com'];
const minuteMs = 60_000;
const pendingSeconds = 7200;
const smtp = (port: number) => ({ host: '127.0.0.1', port, tls: 'none', from: 'Atrium <no-reply@example.com>' });
const at = (seconds: number) => new Date(Math.floor(Date.now() / 1000 + seconds) * 1000).toISOString().replace('.000Z', 'Z');

const authority = () =>
  forSuite(
    async () => ({ port: await freePort(), ...(await (await ServiceAuthority.create()).issue('localhost')) }),
    () => undefined,
  );

describe('mail about a request that is greylisted', () => {
  let aheadMs = 0;
  let pokes = 0;
  const free = authority();
  const server = forSuite(() =>
    startServer({
      now: () => new Date(Date.now() + aheadMs),
      config: {
        features: { accessRequests: true },
        accessRequests: { pendingSeconds },
        server: { publicURL: 'https://console.example.com' },
        smtp: smtp(free.port),
      },
    }),
  );
  let mailServer: MailServer | undefined;
  const greylist = async (options: Partial<MailServerOptions>) => {
    await mailServer?.stop();
    mailServer = await MailServer.start({ port: free.port, key: free.key, cert: free.cert, offersTLS: false, ...options });
    return mailServer;
  };
  let access: AccessRequests;
  before(async () => {
    access = new AccessRequests(server);
    await server.kubernetes.apply(aNamespace('shop'));
    await applyKnown(server, ...['alice', 'bob', 'carol'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
    await access.apply(aPolicy('shop', { subjects: [user('alice')], approvers: [user('bob'), user('carol')] }));
  });
  after(() => mailServer?.stop());
  beforeEach(() => {
    aheadMs = 0;
  });

  /** Passes minutes, and wakes the controller, which waits for the clock. */
  const passMinutes = async (minutes: number) => {
    aheadMs += minutes * minuteMs;
    pokes += 1;
    await server.kubernetes.apply(aPolicy(`poke-${pokes}`, { subjects: [user('nobody')] }));
  };
  const noticesOf = async (request: Request) =>
    Object.fromEntries(((await access.stored(request)).status?.notices ?? []).map(({ event, outcome }) => [event, outcome]));
  const untilNoted = (request: Request, event: string) =>
    eventually(
      () => noticesOf(request),
      (notices) => event in notices,
    );
  const failures = async () => {
    const { body } = await server.kubernetes.call('GET', '/api/v1/namespaces/default/events');
    return (body as { items: { reason: string; message: string; involvedObject: { name: string } }[] }).items.filter(
      ({ reason }) => reason === 'NoticeFailed',
    );
  };
  const subjectsTo = (email: string) =>
    (mailServer?.mails ?? []).filter(({ to }) => to.includes(email)).map(({ headers }) => /Subject: (.*)/.exec(headers)?.[1]);
  /** Waits for the mail server to tell its mails: it does so after the service has its answer, and may be later than the notice. */
  const untilMailed = (...emails: string[]) => mailServer?.until(() => emails.every((email) => subjectsTo(email).length > 0));

  it('reaches the approver after minutes, and no other approver twice (case 75)', async () => {
    const relay = await greylist({ greylisted: { [bob]: 4 } });
    const request = await access.asked({ as: 'alice' });
    await relay.until(() => relay.refusals(bob) === 3);
    expect(subjectsTo(bob)).to.deep.equal([]);
    await passMinutes(1);
    await relay.until(() => relay.refusals(bob) === 4);
    expect(await noticesOf(request)).to.deep.equal({});
    await passMinutes(5);
    expect((await untilNoted(request, 'mail-requested-1'))['mail-requested-1']).to.equal('Sent');
    await untilMailed(bob, carol);
    expect([subjectsTo(bob).length, subjectsTo(carol).length]).to.deep.equal([1, 1]);
    expect(relay.mails.map(({ ehlo }) => ehlo)).to.deep.equal(['console.example.com', 'console.example.com']);
    expect(await failures()).to.deep.equal([]);
    await access.end({ as: 'alice' }, request);
  });

  it('is not sent once the request is withdrawn', async () => {
    const relay = await greylist({ greylisted: { [bob]: 3 } });
    const request = await access.asked({ as: 'alice' });
    await relay.until(() => relay.refusals(bob) === 3);
    await access.end({ as: 'alice' }, request);
    await passMinutes(2);
    const further = await access.asked({ as: 'alice' });
    await untilNoted(further, 'mail-requested-1');
    await untilMailed(bob);
    expect(subjectsTo(bob)).to.have.length(1);
    expect(await noticesOf(request)).to.deep.equal({});
    await access.end({ as: 'alice' }, further);
  });

  it('tells nobody of access after its end', async () => {
    const relay = await greylist({ greylisted: { [alice]: 3 } });
    const request = await access.asked({ as: 'alice' });
    await access.decide({ as: 'bob' }, request);
    await relay.until(() => relay.refusals(alice) === 3);
    await passMinutes(11);
    await access.untilPhase(request, 'Ended');
    await untilNoted(request, 'mail-ended-1');
    await untilMailed(alice);
    expect(subjectsTo(alice)).to.deep.equal(['Your access at Atrium has ended']);
    expect(await noticesOf(request)).to.not.have.property('mail-granted-1');
  });

  it('fails after an hour, and administrators are told', async () => {
    const relay = await greylist({ refused: { [bob]: 451 } });
    const request = await access.asked({ as: 'alice' });
    await relay.until(() => relay.refusals(bob) === 3);
    for (const [index, minutes] of [1, 4, 10, 15, 31].entries()) {
      await passMinutes(minutes);
      await relay.until(() => relay.refusals(bob) === index + 4);
    }
    expect((await untilNoted(request, 'mail-requested-1'))['mail-requested-1']).to.equal('Failed');
    const told = await eventually(failures, (all) => all.length > 0);
    expect(told.map(({ message, involvedObject }) => [involvedObject.name, message])).to.deep.equal([
      [request.metadata.name, 'mail was not told of requested-1: 1 of 2 mails were not taken by the mail server'],
    ]);
    expect(relay.refusals(bob)).to.equal(8);
    await access.end({ as: 'alice' }, request);
  });

  it('is refused for good once, and sent to the others', async () => {
    const relay = await greylist({ refused: { [bob]: 550 }, greylisted: { [carol]: 1 } });
    const request = await access.asked({ as: 'alice' });
    expect((await untilNoted(request, 'mail-requested-1'))['mail-requested-1']).to.equal('Failed');
    await untilMailed(carol);
    expect([relay.refusals(bob), relay.refusals(carol), subjectsTo(carol).length]).to.deep.equal([1, 1, 1]);
    await access.end({ as: 'alice' }, request);
  });
});

/** Final phases with the reasons that they may have. `begin` is that of the access, in seconds from now. */
const ends = [
  ...['NotDecided', 'PolicyChanged', 'RoleChanged', 'UserGone', 'UserDisabled', 'NotGranted', 'NameTaken', 'EndedByUser'].map((reason) => ({
    phase: 'Lapsed',
    reason,
  })),
  ...['Expired', 'EndedByUser', 'PolicyChanged', 'RoleChanged', 'UserGone', 'UserDisabled', 'BindingDeleted', 'BindingShortened'].flatMap(
    (reason) => [{ phase: 'Ended', reason, begin: -60 }, ...(reason === 'Expired' ? [] : [{ phase: 'Ended', reason, begin: 3600 }])],
  ),
  { phase: 'Denied', reason: 'Denied' },
  { phase: 'Withdrawn', reason: 'Withdrawn' },
];

const subjects = {
  en: {
    NotDecided: 'Your request for access at Atrium has lapsed: it was not decided in time',
    PolicyChanged: 'Your request for access at Atrium has lapsed: its policy no longer allows it',
    RoleChanged: 'Your request for access at Atrium has lapsed: the role was deleted',
    lapsed: 'Your request for access at Atrium has lapsed',
    ended: 'Your access at Atrium has ended',
    denied: 'Your request for access at Atrium was denied',
  },
  de: {
    NotDecided: 'Ihr Antrag auf Zugriff bei Atrium ist verfallen: Er wurde nicht rechtzeitig entschieden',
    PolicyChanged: 'Ihr Antrag auf Zugriff bei Atrium ist verfallen: Die Richtlinie erlaubt ihn nicht mehr',
    RoleChanged: 'Ihr Antrag auf Zugriff bei Atrium ist verfallen: Die Rolle wurde gelöscht',
    lapsed: 'Ihr Antrag auf Zugriff bei Atrium ist verfallen',
    ended: 'Ihr Zugriff bei Atrium ist beendet',
    denied: 'Ihr Antrag auf Zugriff bei Atrium wurde abgelehnt',
  },
  zh: {
    NotDecided: '您在 Atrium 的访问申请已失效：未在规定时间内得到决定',
    PolicyChanged: '您在 Atrium 的访问申请已失效：策略不再允许',
    RoleChanged: '您在 Atrium 的访问申请已失效：该角色已被删除',
    lapsed: '您在 Atrium 的访问申请已失效',
    ended: '您在 Atrium 的访问已结束',
    denied: '您在 Atrium 的访问申请已被拒绝',
  },
};
type Subject = keyof typeof subjects.en;

function subjectOf({ phase, reason, begin = 0 }: (typeof ends)[number] & { begin?: number }): Subject | undefined {
  if (phase === 'Withdrawn') return undefined;
  if (phase === 'Denied') return 'denied';
  if (phase === 'Ended' && begin < 0) return 'ended';
  return reason === 'NotDecided' || reason === 'PolicyChanged' || reason === 'RoleChanged' ? reason : 'lapsed';
}

for (const language of ['en', 'de', 'zh'] as const)
  describe(`subjects of mail about the end of a request (${language})`, () => {
    const free = authority();
    const mailServer = forSuite(
      () => MailServer.start({ port: free.port, key: free.key, cert: free.cert, offersTLS: false }),
      (one) => one.stop(),
    );
    const server = forSuite(() =>
      startServer({
        config: {
          features: { accessRequests: true },
          server: { publicURL: 'https://console.example.com' },
          smtp: smtp(free.port),
          console: { languages: [{ id: language, name: language }] },
        },
      }),
    );

    it('tell of ended access only if access had begun (case 74)', async () => {
      const access = await aliceAsksBob(server);
      const asked = await access.asked({ as: 'alice' });
      await access.end({ as: 'alice' }, asked);
      const { spec } = await access.stored(asked);
      await server.stopFirst();

      const write = (name: string, status: object) =>
        server.kubernetes.call('PATCH', `${requestsPath}/${name}/status`, { status }, { ...mergePatch, ...asService });
      const made = await Promise.all(
        ends.map(async (end: (typeof ends)[number] & { begin?: number }, index) => {
          const { phase, reason, begin } = end;
          const metadata = { name: `areq-${index.toString(16).padStart(16, '0')}` };
          const object = { apiVersion: 'auth.platform.io/v1', kind: 'AccessRequest', metadata, spec: { ...spec, approvals: 0 } };
          const created = await server.kubernetes.call('POST', requestsPath, object, asService);
          expect(created.status, JSON.stringify(created.body)).to.equal(201);
          const period = begin === undefined ? {} : { begin: at(begin), until: at(begin + 300) };
          const binding = `ar-${(created.body as Request).metadata.uid}`;
          const denial = { by: 'bob', record: 'r-bob', approve: false, isVoid: false, time: at(0) };
          const before = begin === undefined ? ['Pending'] : ['Approving', begin > 0 ? 'Scheduled' : 'Active'];
          for (const each of before) await write(metadata.name, { phase: each, ...period });
          const last = {
            phase,
            reason,
            ended: at(0),
            ...(begin !== undefined && { binding }),
            ...(phase === 'Denied' && { decisions: [denial] }),
            ...(phase === 'Withdrawn' && { endedBy: spec.requester }),
          };
          const written = await write(metadata.name, last);
          expect(written.status, JSON.stringify(written.body)).to.equal(200);
          return { ...end, ...metadata };
        }),
      );
      const replica = await server.replica();
      const expected = made.map((end) => {
        const subject = subjectOf(end);
        return `${end.phase} ${end.reason} ${end.begin ?? ''}: ${subject === undefined ? '' : subjects[language][subject]}`;
      });
      const mails = () => mailServer.mails.filter(({ to }) => to.includes(alice));
      await mailServer.until(() => mails().length >= made.length - 1);
      const found = made.map((end) => {
        const sent = mails().filter(({ link }) => link.endsWith(`/requests/${end.name}`));
        return `${end.phase} ${end.reason} ${end.begin ?? ''}: ${sent.map(({ headers }) => decoded(/Subject: (.*)/.exec(headers)?.[1])).join()}`;
      });
      expect(found).to.deep.equal(expected);
      await replica.stop();
    });
  });

/** Decodes the words of a header (RFC 2047). */
function decoded(header = ''): string {
  return header.replaceAll(/\?= =\?/g, '?==?').replaceAll(/=\?UTF-8\?([BQ])\?([^?]*)\?=/gi, (_all, kind: string, text: string) =>
    kind.toUpperCase() === 'B'
      ? Buffer.from(text, 'base64').toString()
      : Buffer.from(
          text.replaceAll('_', ' ').replaceAll(/=([0-9A-F]{2})/gi, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
          'latin1',
        ).toString(),
  );
}
