/** Events on users wait in a queue of their own, which the stop of a replica empties. */
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { clientOf, FakeApiServer } from '../../../packages/kubernetes/test/fake-api-server.ts';
import { UserEvents } from '../../../src/users/record/events.ts';
import type { ProxiedRequest } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { aUser, nameOf } from './a-user.ts';

const jane = nameOf('jane@example.com');
const isEvent = ({ method, path }: ProxiedRequest) => method === 'POST' && path.endsWith('/events');

describe('Kubernetes Events on a user whose write has just been answered', () => {
  it('keep no request waiting, and are in the cluster after the stop of the replica', async () => {
    const server = await startFaultyServer();
    try {
      await server.kubernetes.apply(aUser('jane@example.com'), clusterRoleBinding('may', 'cluster-admin', { kind: 'User', name: 'admin' }));
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      server.faults.inject(({ pass }) => void released.then(() => pass()), isEvent);
      const headers = { 'content-type': 'application/merge-patch+json' };
      const patch = async (username: string) =>
        server.request(`/auth/v1/users/${jane}`, { as: 'admin', method: 'PATCH', headers, body: JSON.stringify({ spec: { username } }) });
      await eventually(
        async () => (await patch('Jane')).status,
        (status) => status === 200,
      );
      const answers = await Promise.all(Array.from({ length: 9 }, (_, index) => patch(`Jane ${index}`)));
      expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200));
      // An Event follows its answer.
      const sent = await eventually(
        () => server.faults.requests.filter(isEvent).length,
        (count) => count > 0,
      );
      expect(sent, 'Events at once').to.be.at.most(4);

      const stopped = server.stopFirst();
      // Everything else has ended.
      await eventually(
        () => server.faults.openWatches,
        (count) => count === 0,
      );
      release();
      await stopped;

      const { body } = await server.kubernetes.call('GET', '/api/v1/namespaces/default/events');
      const events = (body as { items: { reason: string; involvedObject: { name: string } }[] }).items;
      const patched = events.filter(({ reason, involvedObject }) => reason === 'UserPatched' && involvedObject.name === jane);
      expect(patched).to.have.lengthOf(10);
    } finally {
      await server.stop();
    }
  });
});

describe('the queue of Events on users', () => {
  const start = async (status: number) => {
    const server = await new FakeApiServer().start();
    const client = clientOf(server);
    let asked = 0;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    server.answer((_request, response) => {
      asked += 1;
      void released.then(() => response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}'));
    });
    const logLines: string[] = [];
    const metrics = new Metrics();
    const events = new UserEvents({
      client: client.asService,
      log: createLog({ level: 'warn', format: 'json' }, { write: (line) => logLines.push(line) }),
      metrics,
      now: () => new Date(),
      clock: () => 0,
    });
    const send = (user: string) =>
      events.send({ audit: 'LoginSucceeded', outcome: 'success', target: { name: user, uid: `uid of ${user}` } });
    const counted = async () =>
      Object.fromEntries(
        ((await metrics.registry.getSingleMetric('atrium_user_events_total')?.get())?.values ?? []).map(({ labels, value }) => [
          String(labels.outcome),
          value,
        ]),
      );
    const stop = async () => {
      release();
      await events.stop();
      await client.close();
      await server.stop();
    };
    return { events, send, release, logLines, counted, asked: () => asked, stop };
  };

  it('is bounded, and counts and logs the Events that find no room', async () => {
    const queue = await start(201);
    try {
      for (let index = 0; index < 1_200; index += 1) queue.send(`user ${index}`);
      const { dropped = 0 } = await queue.counted();
      expect(dropped).to.be.within(150, 250);
      const lines = queue.logLines.map((line) => JSON.parse(line));
      expect(lines.map(({ msg, outcome }) => ({ msg, outcome }))).to.deep.equal([
        { msg: 'Event could not be written', outcome: 'dropped' },
      ]);
      queue.release();
      // The stop waits for a moment only.
      await eventually(
        () => queue.asked(),
        (asked) => asked === 1_200 - dropped,
      );
      await queue.events.stop();
      expect(queue.asked()).to.equal(1_200 - dropped);
      expect(await queue.counted()).to.include({ written: 1_200 - dropped, dropped });
    } finally {
      await queue.stop();
    }
  });

  it('counts and logs the Events that exceed the rate of a user', async () => {
    const queue = await start(201);
    try {
      for (let index = 0; index < 30; index += 1) queue.send('jane');
      expect(await queue.counted()).to.include({ limited: 5 });
      expect(queue.logLines.map((line) => JSON.parse(line).outcome)).to.deep.equal(['limited']);
    } finally {
      await queue.stop();
    }
  });

  it('counts and logs the Events that the API server refuses', async () => {
    const queue = await start(403);
    try {
      queue.send('jane');
      queue.release();
      await queue.events.stop();
      expect(await queue.counted()).to.include({ failed: 1 });
      expect(queue.logLines.map((line) => JSON.parse(line).outcome)).to.deep.equal(['failed']);
    } finally {
      await queue.stop();
    }
  });

  it('ends the stop although the API server does not answer, and counts the Events that remain', async () => {
    const queue = await start(201);
    try {
      for (let index = 0; index < 10; index += 1) queue.send(`user ${index}`);
      await queue.events.stop();
      expect(await queue.counted()).to.include({ failed: 10 });
    } finally {
      await queue.stop();
    }
  });

  it('takes no Event after the stop', async () => {
    const queue = await start(201);
    try {
      await queue.events.stop();
      queue.send('jane');
      expect(queue.asked()).to.equal(0);
      expect(await queue.counted()).to.include({ dropped: 1 });
    } finally {
      await queue.stop();
    }
  });
});
