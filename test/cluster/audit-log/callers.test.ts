import { expect } from 'chai';
import { z } from 'zod';
import { App } from '../../../src/app.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { type AuditEvent, isOwn, watches, what } from './audit-log.ts';
import { startAuditedService } from './audited-service.ts';
import { type Way, ways } from './callers.ts';
import {
  anonymousRequests,
  type CallerRequest,
  callerRequests,
  factorOperations,
  hostileHeaders,
  hostilePassedHeaders,
  logInOperations,
} from './operations.ts';
import { byItself, expectOwnAccount, forLogIns, forUsers, watched } from './own-account.ts';

const description = z.object({ paths: z.record(z.string(), z.record(z.string(), z.object({ operationId: z.string() }))) });
const whoAreThey = 'create selfsubjectreviews';

describe('the audit log', () => {
  it('covers all operations', () => {
    const { paths } = description.parse(App.describe({ tokenExchange: true }));
    const described = Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId));
    const asked = [...callerRequests, ...anonymousRequests].map(({ id }) => id);

    expect([...new Set([...asked, ...logInOperations, ...factorOperations])]).to.have.members(described);
  });

  for (const [name, way] of Object.entries(ways)) describe(`of callers with ${name}`, () => suite(way));
});

function suite(way: Way): void {
  const service = forSuite(() => startAuditedService(way.credentials));

  /** Returns the calls in the name of the sender of a request since a time. */
  const callsFor = async ({ id }: CallerRequest, since: number) =>
    (await service.log.ofService())
      .filter((event) => way.isTheirs(event, nameFor(id)) && Date.parse(event.requestReceivedTimestamp) >= since)
      .map(what);
  const expectCalls = (calls: readonly string[], { id, asks, isRepeated }: CallerRequest) => {
    const others = calls.filter((call) => call !== whoAreThey);
    expect(isRepeated ? [...new Set(others)] : others, id).to.deep.equal(asks);
    expect(calls.length - others.length, id).to.be.at.most(1);
  };

  it('has no call for an anonymous client', async () => {
    for (const { id, path } of anonymousRequests) {
      const response = await service.server.request(path, { headers: hostileHeaders });
      expect(response.status, id).to.equal(id === 'DocsDirectory' ? 308 : 200);
      await response.body?.cancel();
    }

    expect((await service.log.ofService()).filter((event) => !isOwn(event) || !byItself.includes(what(event)))).to.deep.equal([]);
  });

  for (const asked of callerRequests) {
    it(`AUZ-04 has the caller's name at ${asked.id}, whatever name the headers claim`, async () => {
      const { method = 'GET', path, body, codes = [200, 201], isPassed } = asked;
      const hostile = isPassed ? hostilePassedHeaders : hostileHeaders;
      const headers = await way.headers(service, nameFor(asked.id));
      // Calls of the login may be logged after its answer, but arrived before it.
      const since = Date.now();
      const response = await service.server.request(path, { method, body, headers: { ...hostile, ...headers } });
      expect(response.status, await response.text()).to.be.oneOf([...codes]);

      // A call may be logged a moment after its answer.
      const calls = await eventually(
        () => callsFor(asked, since),
        (soFar) => asked.asks.every((call) => countOf(call, soFar) >= countOf(call, asked.asks)),
      );
      expectCalls(calls, asked);
    });
  }

  it('has calls of the service by known callers, and only permitted calls by its own account', async () => {
    // The log has a watch once it has ended, so all must have begun. The first list of a new kind may take long.
    await eventually(
      async () => (await fetch(`${service.server.metricsURL}/metrics`)).text(),
      (metrics) => watched.every((resource) => metrics.includes(`call="watch ${resource}",outcome="200"`)),
    );
    await service.server.relay.cut();
    const events = await eventually(
      () => service.log.ofService(),
      (soFar) => watches(soFar).size === watched.length,
    );
    const isKnown = (event: AuditEvent) => isOwn(event) || callerRequests.some(({ id }) => way.isTheirs(event, nameFor(id)));

    expect(events.filter((event) => !isKnown(event))).to.deep.equal([]);
    expectOwnAccount(events, [...byItself, ...forUsers, ...(way.logsIn ? forLogIns : [])]);
  });

  it('AUZ-04 has no trace of the claimed names, and no call without a user agent', async () => {
    expect(await service.log.text()).not.to.include('intruder');
    for (const { userAgent } of await service.log.events()) expect(userAgent).to.match(/^(atrium|test|kube-[\w-]+\/.*)$/);
  });
}

const countOf = (call: string, calls: readonly string[]) => calls.filter((one) => one === call).length;

/** Returns a user name for each operation, so that the calls in that name are the calls of the operation. */
const nameFor = (operationId: string) => operationId.toLowerCase();
