import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant, revoke } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { EventStream } from '../users/event-stream.ts';
import { aResource, standardResources } from './standard-resources.ts';

const native = '/apis/auth.platform.io/v1';
describe('the list of a standard resource', () => {
  const server = forSuite(() => startServer({ config: { features: { userBindings: true } } }));
  const leaving: AbortController[] = [];
  before(() => grant(server.kubernetes, 'viewer', 'atrium-users-admin'));
  afterEach(() => {
    for (const controller of leaving.splice(0)) controller.abort();
  });
  const open = (path: string, as: 'admin' | 'viewer' | 'alice', headers: Record<string, string> = { accept: 'text/event-stream' }) => {
    const controller = new AbortController();
    leaving.push(controller);
    return server.request(path, { as, headers, signal: controller.signal });
  };
  const follow = async (path: string) => {
    const stream = new EventStream(await open(path, 'admin'));
    await stream.until((events) => events.some(({ event }) => event === 'BOOKMARK'));
    return stream;
  };
  const untilTold = (stream: EventStream, line: string) =>
    eventually(
      () => stream.told(),
      (lines) => lines.includes(line),
    );

  for (const resource of standardResources) {
    const { plural: what, path, kind } = resource;
    const make = (name: string) => aResource(resource, name);

    it(`tells changes of ${what} as events, from the present objects on`, async () => {
      await server.kubernetes.apply(make(`first-${what}`));
      await eventually(
        async () => (await server.request(`${path}/first-${what}`, { as: 'admin' })).status,
        (status) => status === 200,
      );
      const stream = await follow(`${path}?watch=true`);
      expect(stream.told()).to.include(`ADDED first-${what}`);
      await server.kubernetes.apply(make(`second-${what}`));
      await untilTold(stream, `ADDED second-${what}`);
      await server.kubernetes.call('DELETE', `${native}/${what}/first-${what}`);
      await untilTold(stream, `DELETED first-${what}`);
      expect(stream.events.find(({ event }) => event === 'ADDED')?.data.object.kind).to.equal(kind);
    });

    it(`selects and resumes events of ${what}`, async () => {
      const stream = await follow(`${path}?watch=true&fieldSelector=metadata.name=only-${what}`);
      await server.kubernetes.apply(make(`other-${what}`), make(`only-${what}`));
      await untilTold(stream, `ADDED only-${what}`);
      expect(stream.told().filter((line) => line.endsWith(`other-${what}`))).to.deep.equal([]);
      const list = (await (await server.request(path, { as: 'admin' })).json()) as { metadata: { resourceVersion: string } };
      await server.kubernetes.apply(make(`later-${what}`));
      const resumed = new EventStream(await open(`${path}?watch=true&resourceVersion=${list.metadata.resourceVersion}`, 'admin'));
      await untilTold(resumed, `ADDED later-${what}`);
      expect(resumed.told()).not.to.include(`ADDED only-${what}`);
    });

    it(`refuses live lists of ${what} to callers who may not watch them, and without the media type`, async () => {
      expect((await open(`${path}?watch=true`, 'alice')).status).to.equal(403);
      const plain = await open(`${path}?watch=true`, 'admin', {});
      expect(plain.status).to.equal(400);
      expect(((await plain.json()) as { message: string }).message).to.include(`${native}/${what}`);
      expect((await open(`${path}?watch=true&page=1`, 'admin')).status).to.equal(400);
    });
  }

  it('ends when the caller loses the right to watch it', async () => {
    const response = await eventually(
      () => open('/auth/v1/groups?watch=true', 'viewer'),
      ({ status }) => status === 200,
    );
    const stream = new EventStream(response);
    await stream.until((events) => events.some(({ event }) => event === 'BOOKMARK'));
    await revoke(server.kubernetes, 'viewer', 'atrium-users-admin');
    const events = await stream.until((all) => all.some(({ event }) => event === 'ERROR'));
    expect(events.find(({ event }) => event === 'ERROR')?.data.object.code).to.equal(403);
  });

  it('is an ordinary list while features.watch is off', async () => {
    const off = await startServer({ config: { features: { userBindings: true, watch: false } } });
    try {
      for (const { path } of standardResources) {
        const answer = await off.request(`${path}?watch=true`, { as: 'admin', headers: { accept: 'text/event-stream' } });
        expect(answer.status).to.equal(200);
        expect(answer.headers.get('content-type')).to.include('application/json');
      }
    } finally {
      await off.stop();
    }
  });
});
