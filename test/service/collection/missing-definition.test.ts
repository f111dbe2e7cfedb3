/** Writes of objects while the cluster does not have their definition (docs/contract/errors.md). */
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { nameOf } from '../users/a-user.ts';

const email = 'early@example.com';
const kinds = [
  {
    plural: 'users',
    name: nameOf(email),
    object: { spec: { email, password: 'correct horse battery' } },
    patch: { spec: { mail: 'early@example.com' } },
  },
  { plural: 'groups', name: 'early', object: { metadata: { name: 'early' }, spec: {} }, patch: { spec: { displayName: 'Early' } } },
];

for (const { plural, name, object, patch } of kinds)
  describe(`/auth/v1/${plural} where the cluster does not have the definition`, () => {
    const server = forSuite(() => startFaultyServer());

    it('FLT-13 answers creations and changes with 503 and the manifest to apply', async () => {
      await grant(server.kubernetes, 'manager', 'atrium-users-admin');
      const isRight = async () => (await server.request(`/auth/v1/${plural}/none`, { as: 'manager' })).status === 404;
      await eventually(isRight, (right) => right);
      await server.kubernetes.remove(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.auth.platform.io`);

      const created = await server.request(`/auth/v1/${plural}`, { method: 'POST', as: 'manager', body: object });
      const patched = await server.request(`/auth/v1/${plural}/${name}`, { method: 'PATCH', as: 'manager', body: patch });

      for (const response of [created, patched]) {
        const { message, details, ...status } = (await response.json()) as Refusal;
        expect(status).to.include({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
        expect(message).to.match(
          new RegExp(`^${plural}\\.auth\\.platform\\.io: the cluster does not have the definition; run kubectl apply .*/crds$`),
        );
        expect(details).to.deep.include({ group: 'auth.platform.io', kind: plural });
        expect(details.causes).to.have.lengthOf(1);
        expect(details.causes[0]?.reason).to.equal('DefinitionMissing');
      }
    });
  });

interface Refusal {
  message: string;
  details: { group: string; kind: string; causes: { reason: string }[] };
}
