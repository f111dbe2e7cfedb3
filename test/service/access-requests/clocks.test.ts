/** Ends of access at replicas whose machines have a wrong clock. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { asService, eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { bindingsPath } from '../bindings/support.ts';
import { type AccessRequests, aliceAsksBob, mergePatch, requestsPath } from './support.ts';

const tenMinutesMs = 600_000;
const timeIn = (seconds: number) => new Date(Math.ceil(Date.now() / 1000 + seconds) * 1000).toISOString().replace('.000Z', 'Z');

describe('access at replicas with wrong clocks', () => {
  const server = forSuite(() => startServer({ config: { features: { accessRequests: true } } }));
  let access: AccessRequests;
  before(async () => {
    access = await aliceAsksBob(server);
    await server.stopFirst();
  });

  for (const [leader, next] of [
    [tenMinutesMs, -tenMinutesMs],
    [-tenMinutesMs, tenMinutesMs],
  ] as const)
    it(`JIT-07 ends on time and once, if its leader is ${leader / 1000} s ahead and the next one ${next / 1000} s`, async () => {
      const first = await server.replica(leader);
      const second = await server.replica(next);
      const request = await access.asked({ as: 'alice', at: first.url }, { durationSeconds: 300 });
      const { body } = await access.decide({ as: 'bob', at: first.url }, request);
      expect(body.status, JSON.stringify(body)).to.include({ phase: 'Active' });

      // The end is brought forward, as the API server allows no access below five minutes.
      const until = timeIn(5);
      const change = (path: string, patch: object, headers = {}) =>
        server.kubernetes.call('PATCH', path, patch, { ...mergePatch, ...headers });
      const answers = [
        await change(`${requestsPath}/${request.metadata.name}/status`, { status: { until } }, asService),
        await change(`${bindingsPath}/ar-${request.metadata.uid}`, { spec: { expiresAt: until } }),
      ];
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
      await first.stop();

      const { status } = await access.untilPhase(request, 'Ended');
      expect(status).to.include({ reason: 'Expired', until });
      const lateMs = Date.parse(status?.ended ?? '') - Date.parse(until);
      expect(lateMs).to.be.within(0, tenMinutesMs / 2);
      await eventually(
        () => server.kubernetes.call('GET', `${bindingsPath}/ar-${request.metadata.uid}`),
        (answer) => answer.status === 404,
      );
      const events = server.auditLines.map((line) => JSON.parse(line)).filter(({ target }) => target === request.metadata.name);
      expect(events.map(({ audit }) => audit)).to.deep.equal(['AccessRequested', 'AccessGranted', 'AccessDecided', 'AccessEnded']);
      await second.stop();
    });
});
