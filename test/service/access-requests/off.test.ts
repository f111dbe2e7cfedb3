import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parseConfig } from '../../../src/config/load.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aPolicy, policiesPath } from './support.ts';

const request = '/auth/v1/accessrequests/areq-0000000000000000';

describe('access requests that are turned off', () => {
  const server = forSuite(() => startServer({ objects: [aPolicy('idle')] }));

  it('have no operations and no controller by default', async () => {
    for (const operation of [
      ...['', '/idle', '/idle/namespaces'].map((path) => `GET /auth/v1/accesspolicies${path}`),
      ...['GET /auth/v1/accessrequests', 'POST /auth/v1/accessrequests'],
      'GET /auth/v1/accessrequests/options?verb=get&resource=pods',
      ...[`GET ${request}`, `POST ${request}/decision`, `POST ${request}/end`],
    ]) {
      const [method = '', url = ''] = operation.split(' ');
      expect((await server.request(url, { method, as: 'admin' })).status, operation).to.equal(404);
    }
    const lease = '/apis/coordination.k8s.io/v1/namespaces/atrium-system/leases';
    await eventually(
      () => server.kubernetes.call('GET', `${lease}/atrium-user-bindings`),
      ({ status }) => status === 200,
    );
    expect((await server.kubernetes.call('GET', `${lease}/atrium-access-requests`)).status).to.equal(404);
    expect((await server.kubernetes.call('GET', `${policiesPath}/idle`)).body).not.to.have.property('status');
  });

  it('cannot be turned on without UserBindings', () => {
    const yaml = '{features: {accessRequests: true, userBindings: false}}';
    expect(() => parseConfig({ yaml })).to.throw('features.accessRequests');
  });
});
