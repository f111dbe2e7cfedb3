import { expect } from 'chai';
import { type ClusterAdmin, serviceNamespace } from './cluster-admin.ts';

const mergePatch = { 'content-type': 'application/merge-patch+json' };

/**
 * Renews Leases for a replica that does not lead, so that no other replica takes them, as after a leader was killed.
 *
 * @returns a function that gives them back
 */
export async function holdLeases(cluster: ClusterAdmin, ...names: readonly string[]): Promise<() => Promise<void>> {
  const write = (holderIdentity: string) => {
    const spec = { holderIdentity, renewTime: new Date().toISOString().replace('Z', '000Z') };
    const path = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases`;
    return Promise.all(names.map((name) => cluster.call('PATCH', `${path}/${name}`, { spec }, mergePatch)));
  };
  for (const { status } of await write('killed')) expect(status).to.equal(200);
  const timer = setInterval(() => void write('killed'), 1_000);
  return async () => {
    clearInterval(timer);
    await write('');
  };
}
