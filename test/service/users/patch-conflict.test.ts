/** A patch that another writer of the record comes before, between the service's read and its write. */

import { expect } from 'chai';
import { afterEach, before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { aUser, nameOf } from './a-user.ts';

const users = '/apis/auth.platform.io/v1/users';
const email = 'met@example.com';
const path = `${users}/${nameOf(email)}`;
const mergePatch = { 'content-type': 'application/merge-patch+json' };

describe('PATCH /auth/v1/users/{name} beside another writer', () => {
  const server = forSuite(() => startFaultyServer());
  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
    await server.kubernetes.apply(aUser(email, { username: 'Before' }));
    await eventually(
      () => server.request(`/auth/v1/users/${nameOf(email)}`, { as: 'manager' }),
      ({ status }) => status === 200,
    );
  });
  afterEach(() => server.faults.mend());

  /** The next write of the record comes after this one. */
  const writtenBefore = (at: string, change: unknown) =>
    server.faults.inject(
      ({ pass }) => void server.kubernetes.call('PATCH', at, change, mergePatch).then(() => pass()),
      ({ method, path: asked }) => method === 'PATCH' && asked === path,
      1,
    );
  const send = (operations: unknown, headers: Record<string, string> = {}) =>
    server.request(`/auth/v1/users/${nameOf(email)}`, {
      method: 'PATCH',
      as: 'manager',
      body: operations,
      headers: { 'Content-Type': 'application/json-patch+json', ...headers },
    });
  const rename = (from: string, to: string) => [
    { op: 'test', path: '/spec/username', value: from },
    { op: 'replace', path: '/spec/username', value: to },
  ];
  const username = async () => ((await server.kubernetes.call('GET', path)).body as { spec: { username: string } }).spec.username;

  it('makes a JSON patch whose test still holds', async () => {
    writtenBefore(`${path}/status`, { status: { groups: ['met'] } });

    const response = await send(rename('Before', 'After'));

    expect(response.status, await response.text()).to.equal(200);
    expect(await username()).to.equal('After');
  });

  it('USR-15 refuses one whose test holds no longer', async () => {
    writtenBefore(path, { spec: { username: 'Between' } });

    expect((await send(rename('After', 'Lost'))).status).to.equal(422);

    expect(await username()).to.equal('Between');
  });

  it('USR-15 tells the conflict to the caller who asked for one version', async () => {
    const { metadata } = (await server.kubernetes.call('GET', path)).body as { metadata: { resourceVersion: string } };
    writtenBefore(`${path}/status`, { status: { groups: [] } });

    const response = await send(rename('Between', 'Lost'), { 'If-Match': `"${metadata.resourceVersion}"` });

    expect(response.status).to.equal(409);
    expect(await username()).to.equal('Between');
  });
});
