/** Columns of `kubectl get` with future times, on the embedded cluster and, with TEST_CLUSTER=real, on an API server. */
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { apiServer } from '../../support/api-server.ts';
import { clientOf } from '../../support/client-of.ts';
import { installation } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aBinding, bindingsPath } from './support.ts';

interface Table {
  columnDefinitions: { name: string; type: string }[];
  rows: { cells: unknown[] }[];
}

interface Definition {
  spec: { versions: { additionalPrinterColumns?: { type: string; jsonPath: string }[] }[] };
}

describe('the columns of kubectl', () => {
  const cluster = forSuite(() => apiServer());
  const admin = clientOf(cluster, 'admin');

  it('K1 show when a UserBinding ends', async () => {
    await admin.install();
    await admin.apply(aBinding('ends', { expiresAt: '2031-06-01T00:00:00Z' }));
    const { body } = await admin.call('GET', `${bindingsPath}/ends`, undefined, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' });
    const { columnDefinitions, rows } = body as Table;
    const at = columnDefinitions.findIndex(({ name }) => name === 'Expires');
    expect([columnDefinitions[at]?.type, rows[0]?.cells[at]]).to.deep.equal(['string', '2031-06-01T00:00:00Z']);
  });

  it('K1 are dates only where the time has passed', async () => {
    const definitions = (await installation()).filter(({ kind }) => kind === 'CustomResourceDefinition') as unknown as Definition[];
    const columns = definitions.flatMap(({ spec }) =>
      spec.versions.flatMap(({ additionalPrinterColumns = [] }) => additionalPrinterColumns),
    );
    const dates = new Set(columns.filter(({ type }) => type === 'date').map(({ jsonPath }) => jsonPath));
    expect([...dates].sort()).to.deep.equal(['.metadata.creationTimestamp', '.status.lastLoginTime', '.status.lastUsedTime']);
  });
});
