/** Accounts that may write Factors, on the embedded cluster and, with TEST_CLUSTER=real, on an API server. */

import { expect } from 'chai';
import { apiServer } from '../../support/api-server.ts';
import { clientOf } from '../../support/client-of.ts';
import { asService, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';

const path = `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/factors`;
const merge = { 'content-type': 'application/merge-patch+json' };

const factor = (name: string, spec: Record<string, unknown> = {}) => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'Factor',
  metadata: { name, namespace: serviceNamespace },
  spec: { user: 'jane', userUID: 'a-uid', type: 'TOTP', sealed: 'key.text', ...spec },
});

describe('Factors in the cluster', () => {
  const cluster = forSuite(() => apiServer());
  /** May do everything that RBAC can grant. */
  const admin = clientOf(cluster, 'admin');
  const asTheService = (method: 'POST' | 'PATCH' | 'DELETE', at: string, body?: unknown) =>
    admin.call(method, at, body, { ...asService, ...(method === 'PATCH' && merge) });

  before(async () => {
    await admin.install();
    await eventually(
      () => admin.call('POST', `${path}?dryRun=All`, factor('probe')),
      ({ status }) => status === 403,
    );
    await asTheService('POST', path, factor('t-jane'));
  });

  it('MFA-10 are created, changed and deleted by the service alone, whatever the permissions of other accounts', async () => {
    for (const [method, at, body] of [
      ['POST', path, factor('t-mine')],
      ['PATCH', `${path}/t-jane`, { spec: { name: 'mine' } }],
      ['PATCH', `${path}/t-jane/status`, { status: { lastStep: 1 } }],
      ['DELETE', `${path}/t-jane`, undefined],
      ['DELETE', path, undefined],
    ] as const) {
      const { status, body: answer } = await admin.call(method, at, body, method === 'PATCH' ? merge : {});
      expect(status, `${method} ${at}`).to.equal(403);
      expect(JSON.stringify(answer)).to.contain('factors are written by the service alone');
    }
    expect((await admin.call('GET', `${path}/t-jane`)).status).to.equal(200);
  });

  it('change in nothing but their name, and never forget used codes', async () => {
    const change = (spec: Record<string, unknown>) => asTheService('PATCH', `${path}/t-jane`, { spec });
    expect((await change({ name: 'phone' })).status).to.equal(200);
    for (const spec of [
      { user: 'joe' },
      { userUID: 'other' },
      { sealed: 'key.other' },
      { type: 'RecoveryCodes' },
      { name: 'x'.repeat(65) },
    ])
      expect((await change(spec)).status, JSON.stringify(spec)).to.equal(422);

    const note = (status: Record<string, unknown>) => asTheService('PATCH', `${path}/t-jane/status`, { status });
    expect((await note({ lastStep: 7, used: [1, 3] })).status).to.equal(200);
    for (const status of [{ lastStep: 6 }, { lastStep: null }, { used: [1] }, { used: [] }, { used: [1, 3, 10] }])
      expect((await note(status)).status, JSON.stringify(status)).to.equal(422);
    expect((await note({ lastStep: 7, used: [3, 1, 2] })).status).to.equal(200);
  });

  it('name the purpose of a passkey, and hide the passkeys of others', async () => {
    const passkey = { rpID: 'console.example.com' };
    for (const [name, spec, status] of [
      ['p-a', { type: 'Passkey', passkey }, 201],
      ['p-b', { type: 'Passkey' }, 422],
      ['t-c', { passkey }, 422],
      ['t-d', { type: 'SMS' }, 422],
      ['t-e', { sealed: '' }, 422],
    ] as const)
      expect((await asTheService('POST', path, factor(name, spec))).status, name).to.equal(status);
  });
});
