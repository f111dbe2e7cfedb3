/** Mail about access requests while the last release and the present build hand the work of the leader over to each other. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { type AccessRequests, aPolicy, type Request, user } from '../../service/access-requests/support.ts';
import { aNamespace } from '../../service/bindings/support.ts';
import { MailServer } from '../../service/one-time-links/mail-server.ts';
import { ServiceAuthority } from '../../service/plugins/plugin-service.ts';
import { aUser } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { type Build, Installation } from './installation.ts';
import { buildOf, lastRelease } from './last-release.ts';
import type { Replica } from './replica.ts';

const release = lastRelease();
/** A user has one open request for a place. */
const namespaces = Array.from({ length: 6 }, (_, index) => `shop-${index}`);
const [asker, approver] = ['alice@example.com', 'bob@example.com'];

describe(`mail about access requests, between replicas of version ${release.version} and of the present build`, () => {
  const mailServer = forSuite(async () => {
    const { key, cert } = await (await ServiceAuthority.create()).issue('localhost');
    return MailServer.start({ port: await freePort(), key, cert, offersTLS: false });
  });
  const wire = forSuite(
    async () => {
      const proxy = new TcpProxy(`smtp://127.0.0.1:${mailServer.port}`);
      await proxy.start();
      return proxy;
    },
    (one) => one.cut(),
  );
  const service = forSuite(() =>
    Installation.start({
      features: { accessRequests: true },
      smtp: { host: '127.0.0.1', port: Number(new URL(wire.url).port), tls: 'none', from: 'Atrium <no-reply@example.com>' },
    }),
  );
  let access: AccessRequests;
  let older: Build;
  const unused = namespaces.values();

  before(async () => {
    older = await buildOf(release);
    const { admin } = service;
    access = service.accessRequests();
    const users = [asker, approver].map((email) => aUser(email, { subjectName: email.replace('@example.com', '') }));
    await admin.apply(...namespaces.map((name) => aNamespace(name)), ...users);
    await access.apply(
      aPolicy('shop', { subjects: [user('alice')], approvers: [user('bob')], scope: { namespaces: { names: namespaces } } }),
    );
  });

  /** Asks as soon as every replica knows the policy. */
  const ask = async (): Promise<Request> => {
    const namespace = unused.next().value;
    const { status, body } = await eventually(
      () => access.ask({ as: 'alice' }, { namespaces: [namespace] }),
      (answer) => answer.status !== 403 && answer.status !== 404,
    );
    expect(status, JSON.stringify(body)).to.equal(201);
    return body;
  };
  const mailsTo = (email: string, { metadata: { name } }: Request) =>
    mailServer.mails.filter(({ to, link }) => to.includes(email) && link.endsWith(`/requests/${name}`)).length;
  const untilTold = async (request: Request, event: string): Promise<void> => {
    const { status } = await eventually(
      () => access.stored(request),
      (stored) => stored.status?.notices?.some((notice) => notice.event === event) === true,
    );
    expect(status?.notices?.find((notice) => notice.event === event)).to.include({ outcome: 'Sent' });
  };
  const stop = async (replicas: readonly Replica[]): Promise<void> => {
    for (const replica of replicas) await service.stopReplica(replica);
  };

  for (const [direction, buildsOf] of Object.entries({
    'an upgrade': () => [older, service.present] as const,
    'a rollback': () => [service.present, older] as const,
  }))
    it(`is neither sent twice nor lost in ${direction}`, async () => {
      const [from, to] = buildsOf();
      const former = [...service.replicas];
      const leader = await service.startReplica(from);
      await stop(former);
      const told = await ask();
      await untilTold(told, 'mail-requested-1');

      // The mail server does not answer the leader, which stops meanwhile.
      await service.startReplica(to);
      wire.holdAnswers();
      const accepted = wire.accepted;
      const waiting = await ask();
      await mailServer.until(() => wire.accepted > accepted);
      await stop([leader]);
      wire.releaseAnswers();
      await untilTold(waiting, 'mail-requested-1');

      expect((await access.decide({ as: 'bob' }, told)).status).to.equal(200);
      await untilTold(told, 'mail-granted-1');
      const last = await ask();
      await untilTold(last, 'mail-requested-1');
      expect([told, waiting, last].map((request) => mailsTo(approver, request))).to.deep.equal([1, 1, 1]);
      expect([told, waiting, last].map((request) => mailsTo(asker, request))).to.deep.equal([1, 0, 0]);
    });
});
