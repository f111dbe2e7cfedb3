/** Webhooks of access requests: bodies, signatures, and receivers that misbehave. */
import { clusterNetwork } from '@atrium/http/outgoing.ts';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aNamespace, applyKnown } from '../bindings/support.ts';
import { aUser } from '../users/a-user.ts';
import { newSecret, redirectsTo, refuses, signatureOf, takes, WebhookReceiver } from './receiver.ts';
import { AccessRequests, aPolicy, type Request, user } from './support.ts';

const subjects = [user('alice')];
const approvers = [user('bob'), user('carol')];
const reason = 'canary-of-the-reason in the shop';
const loopback = (host: string) => host.startsWith('127.');

const receiver = () =>
  forSuite(
    () => WebhookReceiver.start(),
    (one) => one.stop(),
  );

describe('webhooks of access requests', () => {
  let ahead = 0;
  const [whole, brief] = [receiver(), receiver()];
  const server = forSuite(() =>
    startServer({
      now: () => new Date(Date.now() + ahead),
      config: {
        features: { accessRequests: true },
        accessRequests: {
          webhooks: [
            { name: 'whole', url: whole.url, secretFile: whole.secretFile, details: true },
            { name: 'brief', url: `http://brief.shop.svc:${brief.port}/canary-of-the-path`, secretFile: brief.secretFile },
            { name: 'metadata', url: `http://metadata.svc:${whole.port}/`, secretFile: whole.secretFile, events: ['requested'] },
            { name: 'address', url: 'https://169.254.169.254/', secretFile: whole.secretFile, events: ['requested'] },
          ],
        },
      },
      pluginContext: {
        network: {
          resolve: async (host) => [host === 'metadata.svc' ? '169.254.169.254' : '127.0.0.1'],
          isRefused: (address) => !loopback(address) && clusterNetwork.isRefused(address),
        },
      },
    }),
  );
  let access: AccessRequests;
  before(async () => {
    access = new AccessRequests(server);
    await server.kubernetes.apply(aNamespace('shop'));
    await applyKnown(server, ...['alice', 'bob', 'carol'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
    await access.apply(aPolicy('shop', { subjects, approvers, ticketPattern: 'canary-of-the-ticket' }));
  });
  beforeEach(() => {
    whole.behave = takes;
    brief.behave = takes;
  });

  const asked = () => access.asked({ as: 'alice' }, { reason, ticket: 'canary-of-the-ticket' });
  const noticesOf = async (request: Request) => (await access.stored(request)).status?.notices ?? [];
  const untilNoted = (request: Request, event: string) =>
    eventually(
      () => noticesOf(request),
      (notices) => notices.some((one) => one.event === event),
    );
  const outcomeOf = async (request: Request, event: string) =>
    (await untilNoted(request, event)).find((one) => one.event === event)?.outcome;
  /** Moves the clock, and has the leader look at its queue. */
  const advance = async (ms: number) => {
    ahead += ms;
    await server.kubernetes.apply(aPolicy(`poke-${ahead}`, { subjects: [user('nobody')], approvers }));
  };
  const metric = async (name: string, outcome: string) => {
    const text = await (await fetch(`${server.metricsURL}/metrics`)).text();
    return Number(
      new RegExp(`^atrium_access_notices_total\\{receiver="${name}",outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0,
    );
  };

  it('tell each event once, signed, with details where they are wanted', async () => {
    const request = await asked();
    const { name, uid } = request.metadata;
    const first = await whole.until(name, 'access.requested');
    expect(first.id).to.equal(`${uid}-requested-1`);
    expect(first.signature).to.equal(signatureOf(first, whole.secret));
    expect(first.body.data).to.deep.include({
      request: { name, uid },
      phase: 'Pending',
      requester: 'alice',
      policy: 'shop',
      role: 'view',
      scope: 'namespace',
      namespaces: ['shop'],
      durationSeconds: 600,
      breakGlass: false,
      reason,
      ticket: 'canary-of-the-ticket',
    });
    await access.call('POST', `/auth/v1/accessrequests/${name}/decision`, {
      as: 'bob',
      body: { approve: true, comment: 'canary-of-the-comment' },
    });
    const decided = await whole.until(name, 'access.decided');
    expect(decided.body.data).to.deep.include({ decision: { by: 'bob', approve: true, comment: 'canary-of-the-comment' } });
    const { until } = (await access.stored(request)).status ?? {};
    expect((await whole.until(name, 'access.granted')).body.data).to.include({ until });
    await access.end({ as: 'bob' }, request);
    const ended = await whole.until(name, 'access.ended');
    expect(ended.body.data).to.deep.include({ phase: 'Ended', end: { reason: 'EndedByUser', by: 'bob' } });
    for (const event of ['decided-1', 'granted-1', 'ended-1']) expect(await outcomeOf(request, event)).to.equal('Sent');
    for (const type of ['requested', 'decided', 'granted', 'ended']) expect(whole.of(name, `access.${type}`)).to.have.length(1);

    await brief.until(name, 'access.ended');
    const briefly = brief.taken.map(({ text }) => text).join('\n');
    expect(briefly).to.contain('"by":"bob"').and.not.to.contain('canary');
    expect(Buffer.byteLength(first.text)).to.be.below(20 * 1024);
  });

  it('WHK-01 refuse link-local addresses, also behind a name', async () => {
    const request = await asked();
    await whole.until(request.metadata.name, 'access.requested');
    await eventually(
      async () => [await metric('webhook/metadata', 'retried'), await metric('webhook/address', 'retried')],
      ([name = 0, address = 0]) => name > 0 && address > 0,
    );
    expect(server.logLines.join()).to.contain('the host of the webhook has an address that is refused');
    expect(whole.of(request.metadata.name, 'access.requested')).to.have.length(1);
    await access.end({ as: 'alice' }, request);
    // The next test refuses deliveries, and counts them.
    await whole.until(request.metadata.name, 'access.ended');
  });

  it('WHK-01 follow no redirect, and give up after the third attempt, all with the same id', async () => {
    whole.behave = redirectsTo(`http://127.0.0.1:${brief.port}/`);
    const request = await asked();
    const { name } = request.metadata;
    const ids = [(await whole.until(name, 'access.requested')).id];
    for (const [ms, count] of [
      [10_000, 2],
      [50_000, 3],
    ] as const) {
      await eventually(
        async () => server.logLines.filter((line) => line.includes(name) && line.includes('the webhook answered 307')).length,
        (lines) => lines >= count - 1,
      );
      await advance(ms);
      ids.push((await whole.until(name, 'access.requested', count)).id);
    }
    expect(new Set(ids).size).to.equal(1);
    expect(await outcomeOf(request, 'requested-1')).to.equal('Failed');
    expect(await metric('webhook/whole', 'failed')).to.equal(1);
    expect(brief.of(name, 'access.requested')).to.have.length(1);
    await access.end({ as: 'alice' }, request);
  });

  it('WHK-01 read little of an endless answer', async () => {
    const sent = await metric('webhook/whole', 'sent');
    whole.behave = whole.floods;
    const request = await asked();
    await whole.until(request.metadata.name, 'access.requested');
    await brief.until(request.metadata.name, 'access.requested');
    await eventually(
      () => metric('webhook/whole', 'sent'),
      (count) => count > sent,
    );
    await access.end({ as: 'alice' }, request);
    expect(whole.bytesWritten).to.be.below(64 * 1024 * 1024);
  });

  it('WHK-01 delay neither access nor other receivers while one hangs', async () => {
    whole.behave = whole.hangs;
    const request = await asked();
    await whole.until(request.metadata.name, 'access.requested');
    expect((await access.decide({ as: 'bob' }, request)).body.status).to.include({ phase: 'Active' });
    expect((await access.end({ as: 'alice' }, request)).body.status).to.include({ phase: 'Ended' });
    await brief.until(request.metadata.name, 'access.ended');
    // After a second, the status names the receivers that have taken or refused an event.
    for (const { event } of await noticesOf(request)) expect(event).to.match(/\/webhook\/(?!whole$)/);
    whole.release();
  });

  it('WHK-03 are signed by both secrets while one is replaced', async () => {
    const next = newSecret();
    await whole.writeSecrets(whole.secret, next);
    const request = await asked();
    const both = await whole.until(request.metadata.name, 'access.requested');
    expect(both.signature).to.equal(`${signatureOf(both, whole.secret)} ${signatureOf(both, next)}`);
    await whole.writeSecrets(next);
    await access.end({ as: 'alice' }, request);
    const replaced = await whole.until(request.metadata.name, 'access.ended');
    expect(replaced.signature).to.equal(signatureOf(replaced, next));
    await whole.writeSecrets(whole.secret);
  });

  it('WHK-02 show no secret, and no text of users or receivers, in the log, metrics and errors', async () => {
    whole.behave = refuses;
    await brief.writeSecrets('whsec_canary-of-the-secret');
    const request = await asked();
    await whole.until(request.metadata.name, 'access.requested');
    const lines = () => server.logLines.filter((line) => line.includes(request.metadata.name));
    await eventually(
      async () => lines().join(),
      (text) => text.includes('the webhook answered 500') && text.includes('secretFile must have'),
    );
    const metrics = await (await fetch(`${server.metricsURL}/metrics`)).text();
    for (const text of [lines().join(), metrics, server.auditLines.join()]) expect(text).not.to.contain('canary');
    await brief.writeSecrets(brief.secret);
    await access.end({ as: 'alice' }, request);
  });

  it('WHK-03 are told again by the next leader, with the same id, at the one receiver that had not answered', async () => {
    const request = await asked();
    const { name } = request.metadata;
    await Promise.all([whole, brief].map((one) => one.until(name, 'access.requested')));
    // A notice that is not noted yet is told again by the next leader.
    await advance(1_000);
    await eventually(
      () => noticesOf(request),
      (notices) => ['requested-1', 'requested-1/webhook/brief'].some((name) => notices.some(({ event }) => event === name)),
    );
    whole.behave = whole.hangs;
    await access.end({ as: 'alice' }, request);
    const first = await whole.until(name, 'access.ended');
    await brief.until(name, 'access.ended');
    await advance(1_000);
    expect(await outcomeOf(request, 'ended-1/webhook/brief')).to.equal('Sent');
    await server.replica();
    await server.stopFirst();
    whole.behave = takes;
    const again = await whole.until(name, 'access.ended', 2);

    expect(again.id).to.equal(first.id);
    expect(await outcomeOf(request, 'ended-1')).to.equal('Sent');
    expect((await noticesOf(request)).filter(({ event }) => event.startsWith('ended'))).to.have.length(1);
    for (const type of ['access.requested', 'access.ended']) expect(brief.of(name, type), type).to.have.length(1);
    expect(whole.of(name, 'access.requested')).to.have.length(1);
  });
});
