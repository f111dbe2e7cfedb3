import { connect } from 'node:net';
import { expect } from 'chai';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { patient, startServer } from '../../support/server.ts';

const maxInFlight = 120;
const native = '/apis/auth.platform.io/v1/users?watch=true';
const ways: Record<string, string> = {
  'live list': '/auth/v2/users?watch=true',
  'native watch': native,
  'watch that is passed on': `/api/kubernetes${native}`,
};

describe('long requests of one caller', () => {
  const server = forSuite(() => startServer({ config: { server: { ...patient.server, maxInFlight } } }));
  const people: Person[] = ['viewer', 'alice', 'bob'];
  const ends = new AbortController();
  /** The garbage collector cancels an answer that is not held. */
  const held: Response[] = [];

  before(async () => {
    for (const person of people) await grant(server.kubernetes, person, 'atrium-users-view');
    await eventually(
      async () => (await server.request('/auth/v2/users', { as: 'bob' })).status,
      (status) => status === 200,
    );
  });
  after(() => ends.abort());

  const open = async (as: Person, path: string) => {
    const answer = await server.request(path, {
      as,
      headers: { Accept: path === native ? '*/*' : 'text/event-stream, */*' },
      signal: ends.signal,
    });
    held.push(answer);
    return answer;
  };
  const openUntilRefused = async (as: Person) => {
    const paths = Object.values(ways);
    const statuses: number[] = [];
    while (statuses.length <= maxInFlight && statuses.at(-1) !== 429)
      statuses.push((await open(as, paths[statuses.length % paths.length] ?? '')).status);
    return statuses;
  };

  it('S13 begin behind other requests of their connection', async () => {
    const head = `Host: x\r\nAuthorization: Bearer ${await server.token('bob')}\r\nAccept: text/event-stream, */*\r\n\r\n`;
    const socket = connect(server.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk;
    });
    socket.write(
      ['/auth/v2/users', native.replace('true', 'false'), ways['live list']].map((path) => `GET ${path} HTTP/1.1\r\n${head}`).join(''),
    );
    await eventually(
      () => text,
      (all) => /^HTTP\/1\.1 200 .*UserList.*HTTP\/1\.1 200 .*UserList.*HTTP\/1\.1 200 .*text\/event-stream.*event: BOOKMARK/s.test(all),
    );
    socket.destroy();
  });

  it('S3 are 100 at most, whatever they are, and callers with fewer have a reserve', async () => {
    const opened = (count: number) => [...Array.from({ length: count }, () => 200), 429];
    expect(await openUntilRefused('viewer')).to.deep.equal(opened(100));
    for (const [name, path] of Object.entries(ways)) {
      const answer = await open('viewer', path);
      expect(answer.status, name).to.equal(429);
      expect(answer.headers.get('retry-after'), name).to.equal('1');
      expect(await answer.json(), name).to.include({ kind: 'Status', reason: 'TooManyRequests' });
    }
    expect(await openUntilRefused('alice')).to.deep.equal(opened(10));
    for (const [name, path] of Object.entries(ways)) expect((await open('bob', path)).status, name).to.equal(200);
    expect((await server.request('/auth/v2/users', { as: 'viewer' })).status).to.equal(200);
  });

  it('S3 give their places back when they end', async () => {
    ends.abort();
    const again = new AbortController();
    const statuses = await eventually(
      async () => {
        const answers = await Promise.all(
          Object.values(ways).map((path) =>
            server.request(path, { as: 'viewer', headers: { Accept: 'text/event-stream, */*' }, signal: again.signal }),
          ),
        );
        held.push(...answers);
        return answers.map(({ status }) => status);
      },
      (all) => all.every((status) => status === 200),
    );
    expect(statuses).to.deep.equal([200, 200, 200]);
    again.abort();
  });
});
