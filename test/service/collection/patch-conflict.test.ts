/** A write of another client between the read and the write of a patch. */

import { expect } from 'chai';
import { afterEach, before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { aGroup } from '../groups/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';

const email = 'met@example.com';
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const kinds = [
  { plural: 'users', name: nameOf(email), field: 'username', object: aUser(email, { username: 'Before' }), status: { groups: ['met'] } },
  { plural: 'groups', name: 'met', field: 'displayName', object: aGroup('met', [], { displayName: 'Before' }), status: { memberCount: 7 } },
];

for (const { plural, name, field, object, status } of kinds)
  describe(`PATCH /auth/v1/${plural}/{name} beside another writer`, () => {
    const path = `/apis/auth.platform.io/v1/${plural}/${name}`;
    const server = forSuite(() => startFaultyServer());
    const read = async () => (await server.kubernetes.call('GET', path)).body as Read;
    before(async () => {
      await grant(server.kubernetes, 'manager', 'atrium-users-admin');
      await server.kubernetes.apply(object);
      await eventually(
        () => server.request(`/auth/v1/${plural}/${name}`, { as: 'manager' }),
        ({ status }) => status === 200,
      );
    });
    afterEach(() => server.faults.mend());

    /** Runs a change before the next write of the object by the caller. */
    const writtenBefore = (at: string, change: unknown) =>
      server.faults.inject(
        ({ pass }) => void server.kubernetes.call('PATCH', at, change, mergePatch).then(() => pass()),
        ({ method, path: asked }) => method === 'PATCH' && asked === path,
        1,
      );
    const send = (operations: unknown, headers: Record<string, string> = {}) =>
      server.request(`/auth/v1/${plural}/${name}`, {
        method: 'PATCH',
        as: 'manager',
        body: operations,
        headers: { 'Content-Type': 'application/json-patch+json', ...headers },
      });
    const rename = (from: string, to: string) => [
      { op: 'test', path: `/spec/${field}`, value: from },
      { op: 'replace', path: `/spec/${field}`, value: to },
    ];
    const text = async () => (await read()).spec[field];

    it('makes a JSON patch whose test still holds', async () => {
      writtenBefore(`${path}/status`, { status });

      const response = await send(rename('Before', 'After'));

      expect(response.status, await response.text()).to.equal(200);
      expect(await text()).to.equal('After');
    });

    it('USR-15 refuses one whose test holds no longer', async () => {
      writtenBefore(path, { spec: { [field]: 'Between' } });

      expect((await send(rename('After', 'Lost'))).status).to.equal(422);

      expect(await text()).to.equal('Between');
    });

    it('USR-15 reports the conflict to a caller who asked for one version', async () => {
      const { resourceVersion } = (await read()).metadata;
      writtenBefore(`${path}/status`, { status: { ...status, observedGeneration: 99 } });

      const response = await send(rename('Between', 'Lost'), { 'If-Match': `"${resourceVersion}"` });

      expect(response.status).to.equal(409);
      expect(await text()).to.equal('Between');
    });
  });

interface Read {
  metadata: { resourceVersion: string };
  spec: Record<string, unknown>;
}
