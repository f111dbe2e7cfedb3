import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { request } from 'undici';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser } from './a-user.ts';
import { untilSettled } from './settled.ts';

const count = 37;
const emails = Array.from({ length: count }, (_, index) => `person-${index}@example.com`);
const people = emails.map((email, index) => aUser(email, { username: `Person ${index}`, groups: ['dev'] }));

describe('a list of users, compressed', () => {
  const server = forSuite(() => startServer());
  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await server.kubernetes.apply(...people);
    await eventually(
      async () => (await server.request('/auth/v2/users', { as: 'viewer' })).json() as Promise<{ total: number }>,
      ({ total }) => total === count,
    );
    await untilSettled(server, emails);
  });

  const read = async (path: string, encoding: string) => {
    const headers = { authorization: `Bearer ${await server.token('viewer')}`, 'accept-encoding': encoding };
    const answer = await request(`${server.url}${path}`, { headers });
    return { headers: answer.headers, bytes: Buffer.from(await answer.body.arrayBuffer()) };
  };

  for (const path of ['/auth/v2/users', '/auth/v1/users', '/apis/auth.platform.io/v1/users'])
    it(`takes a fifth of its size (${path})`, async () => {
      const [plain, packed] = [await read(path, 'identity'), await read(path, 'gzip')];

      expect(plain.headers).to.not.have.property('content-encoding');
      expect(packed.headers['content-encoding']).to.equal('gzip');
      expect(packed.headers.vary).to.match(
        /^(Impersonate-User, Impersonate-Group, Impersonate-Uid, Atrium-View-As-Groups, )?Authorization, Cookie, Accept-Encoding$/,
      );
      expect((JSON.parse(gunzipSync(packed.bytes).toString()) as { items: unknown[] }).items).to.have.length(count);
      expect(packed.bytes.length).to.be.below(plain.bytes.length / 5);
    });

  it('is not, as a stream of changes: each event goes out at once', async () => {
    const headers = { authorization: `Bearer ${await server.token('viewer')}`, 'accept-encoding': 'gzip' };
    const watch = await request(`${server.url}/apis/auth.platform.io/v1/users?watch=true&timeoutSeconds=1`, { headers });
    expect(watch.headers).to.not.have.property('content-encoding');
    expect(await watch.body.text()).to.include('"ADDED"');
  });
});
