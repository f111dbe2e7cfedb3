import { expect } from 'chai';
import { describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, Bindings } from './support.ts';

const path = '/auth/v2/userbindings';

describe('UserBindings that are turned off', () => {
  const server = forSuite(() => startServer({ config: { features: { userBindings: false } }, objects: [aBinding('idle')] }));

  it('have no operations, and become nothing', async () => {
    for (const operation of [`GET ${path}`, `POST ${path}`, `DELETE ${path}`, `GET ${path}/idle`, `DELETE ${path}/idle`]) {
      const [method = '', url = ''] = operation.split(' ');
      expect((await server.request(url, { method, as: 'admin' })).status, operation).to.equal(404);
    }
    const lease = '/apis/coordination.k8s.io/v1/namespaces/atrium-system/leases';
    await eventually(
      () => server.kubernetes.call('GET', `${lease}/atrium-user-states`),
      ({ status }) => status === 200,
    );
    expect((await server.kubernetes.call('GET', `${lease}/atrium-user-bindings`)).status).to.equal(404);
    expect((await new Bindings(server.kubernetes).read('idle'))?.status).to.equal(undefined);
  });
});
