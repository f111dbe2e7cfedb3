import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import type { AuditEvent } from './audit-log.ts';
import { startAuditedService } from './audited-service.ts';
import { emailOf, personCalled } from './callers.ts';

const [actor, target] = ['noa', 'bob'].map(emailOf) as [string, string];
const pods = '/api/v1/namespaces/default/pods';

describe('the audit log of views', () => {
  for (const credentials of ['passthrough', 'impersonate'] as const) {
    const service = forSuite(() => startAuditedService(credentials));

    it(`VAS-10 has both users (${credentials})`, async () => {
      await service.server.kubernetes.apply(
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRole',
          metadata: { name: 'views-bob' },
          rules: [{ apiGroups: [''], resources: ['users'], resourceNames: [target], verbs: ['impersonate'] }],
        },
        clusterRoleBinding('noa-views-bob', 'views-bob', { kind: 'User', name: actor }),
      );
      const headers = {
        authorization: `Bearer ${service.provider.idToken({ claims: personCalled('noa') })}`,
        'impersonate-user': target,
      };
      const isOfView = ({ requestURI, impersonatedUser }: AuditEvent) =>
        requestURI.startsWith(pods) && impersonatedUser?.username === target;
      const view = await eventually(
        async () => {
          await (await service.server.request(`/api/kubernetes${pods}`, { headers })).body?.cancel();
          return (await service.log.events()).find(isOfView);
        },
        (found) => found !== undefined,
      );

      if (credentials === 'passthrough') expect(view?.user.username).to.equal(actor);
      else {
        expect(view?.user.username).to.equal('system:serviceaccount:atrium-system:atrium');
        expect(view?.impersonatedUser?.extra).to.deep.equal({ 'atrium.platform.io/actor': [actor] });
      }
    });
  }
});
