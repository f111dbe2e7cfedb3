import { hash } from 'node:crypto';
import { expect } from 'chai';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { untilWarned } from '../../support/warning-events.ts';
import { configMap, publicLabel } from '../console/objects.ts';
import { consolePlugin, consolePluginsPath, startPluginSuite } from './support.ts';

interface Kept {
  metadata: { generation: number; resourceVersion: string };
  status?: {
    version?: string;
    conditions?: {
      type: string;
      status: string;
      reason: string;
      message: string;
      observedGeneration: number;
      lastTransitionTime: string;
    }[];
  };
}

const ofPlugin = (plugin: string) => ({ ...publicLabel, 'console.platform.io/plugin': plugin });
const manifest = (version: unknown) => JSON.stringify({ name: 'x', version });

describe('the state of ConsolePlugins', () => {
  const suite = forSuite(() => startPluginSuite());

  const read = async (name: string) => (await suite.server.kubernetes.call('GET', `${consolePluginsPath}/${name}`)).body as Kept;
  const available = ({ status }: Kept) => status?.conditions?.find(({ type }) => type === 'Available');
  const untilReason = async (name: string, reason: string) => {
    const object = await eventually(
      () => read(name),
      (kept) => available(kept)?.reason === reason && available(kept)?.observedGeneration === kept.metadata.generation,
    );
    return { object, condition: available(object) };
  };
  const apply = (name: string, spec: Record<string, unknown>) => suite.server.kubernetes.apply(consolePlugin(name, spec));

  it('PLG-01 says of a manifest whether it is the one that spec.integrity pins, and lists the enabled plugins', async () => {
    const text = manifest('1.0.0');
    const integrity = `sha256-${hash('sha256', text, 'base64')}`;
    const service = { name: 'listed', namespace: 'plugins', port: 8443 };
    await apply('listed-far', { order: 7, backend: { service } });
    await apply('pinned', { displayName: 'Pinned', order: 5, integrity });
    await apply('hidden', {});
    const labels = { 'console.platform.io/plugin': 'hidden' };
    await suite.server.kubernetes.apply(
      configMap('pinned', ofPlugin('pinned'), { data: { 'plugin-manifest.json': text } }),
      configMap('alone', ofPlugin('alone'), { data: { 'plugin-manifest.json': text } }),
      configMap('hidden', labels, { data: { 'plugin-manifest.json': text } }),
    );
    await untilReason('pinned', 'ManifestRead');
    const list = async (options = {}) => {
      const response = await suite.server.request('/api/v1/console-plugins', options);
      return (await response.json()) as { items: { plugin: string }[]; plugins: { name: string }[] };
    };
    const { plugins } = await eventually(
      list,
      ({ items, plugins: known }) => known.some(({ name }) => name === 'pinned') && items.some(({ plugin }) => plugin === 'alone'),
    );
    const ours = plugins.filter(({ name }) => ['pinned', 'listed-far', 'alone', 'hidden'].includes(name));
    expect(ours).to.deep.equal([
      {
        name: 'pinned',
        displayName: 'Pinned',
        order: 5,
        source: 'ConfigMap',
        manifest: '/plugins/pinned/plugin-manifest.json',
        integrity,
      },
      { name: 'listed-far', displayName: 'listed-far', order: 7, source: 'Service', manifest: '/plugins/listed-far/plugin-manifest.json' },
    ]);
    await eventually(
      () => list({ as: 'admin' }),
      (answer) => answer.plugins.some(({ name }) => name === 'hidden'),
    );

    await apply('pinned', { integrity: `sha256-${hash('sha256', 'other', 'base64')}` });
    const { condition } = await untilReason('pinned', 'IntegrityMismatch');
    expect(condition).to.deep.include({ status: 'False', message: 'plugin-manifest.json does not match spec.integrity' });
    await suite.server.kubernetes.apply(consolePlugin('listed-far', { enabled: false }));
    await eventually(list, (answer) => answer.plugins.every(({ name }) => name !== 'listed-far'));
  });

  it('tells of a plugin in a ConfigMap whether its manifest is there, and its version', async () => {
    await apply('map', {});
    const { condition: none } = await untilReason('map', 'NotFound');
    expect(none).to.deep.include({ status: 'False', message: 'no ConfigMap labelled for the plugin holds plugin-manifest.json' });
    const [event] = await untilWarned(suite.server.kubernetes, 'ConsolePlugin', 'map');
    expect(event).to.include({ reason: 'NotFound', message: none?.message });
    // The condition does not depend on who may read the ConfigMap.
    const labels = { 'console.platform.io/plugin': 'map' };
    await suite.server.kubernetes.apply(configMap('map', labels, { data: { 'plugin-manifest.json': manifest('1.2.3') } }));
    const { object, condition } = await untilReason('map', 'ManifestRead');
    expect(condition).to.deep.include({ status: 'True', observedGeneration: object.metadata.generation });
    expect(condition?.lastTransitionTime).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(object.status?.version).to.equal('1.2.3');
    await suite.server.kubernetes.apply(configMap('map', labels, { data: { 'plugin-manifest.json': manifest(7) } }));
    const changed = await eventually(
      () => read('map'),
      ({ status }) => status?.version === undefined,
    );
    expect(available(changed)?.lastTransitionTime).to.equal(condition?.lastTransitionTime);
    await suite.server.kubernetes.remove(`/api/v1/namespaces/${serviceNamespace}/configmaps/map`);
    expect((await untilReason('map', 'NotFound')).object.status?.version).to.equal(undefined);
  });

  it('tells of a plugin at a Service whether it answers, and follows a change of its spec at once', async () => {
    const service = suite.reference({ basePath: '/base' });
    suite.service.handle = (request, response) =>
      request.url === '/base/plugin-manifest.json' ? response.end(manifest('2.0.0')) : response.writeHead(404).end();
    await apply('far', { backend: { service } });
    const { object } = await untilReason('far', 'ManifestRead');
    expect(object.status?.version).to.equal('2.0.0');
    await apply('far', { backend: { service: { ...service, basePath: '/other' } } });
    const { condition } = await untilReason('far', 'NotFound');
    expect(condition).to.deep.include({ status: 'False', message: 'the Service answered 404 for plugin-manifest.json' });
    await apply('far', { backend: { service: { ...service, port: 1 } } });
    expect((await untilReason('far', 'Unreachable')).condition?.message).to.equal('the Service cannot be reached over TLS by its name');
    suite.service.handle = (_request, response) => response.end('["no manifest"]');
    await apply('far', { backend: { service } });
    await untilReason('far', 'InvalidManifest');
    suite.service.handle = (_request, response) => response.end(Buffer.alloc(2 ** 20 + 1));
    await apply('far', { backend: { service: { ...service, basePath: '/large' } } });
    await untilReason('far', 'InvalidManifest');
    await apply('far', { enabled: false });
    await untilReason('far', 'Disabled');
  });

  it('leaves the conditions of others alone, and writes nothing that has not changed', async () => {
    const withVersion = (version: string) => configMap('still', ofPlugin('still'), { data: { 'plugin-manifest.json': manifest(version) } });
    await suite.server.kubernetes.apply(withVersion('1'), consolePlugin('still', {}));
    const { condition } = await untilReason('still', 'ManifestRead');
    const other = { type: 'Reviewed', status: 'True', reason: 'ByHand', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
    // The patch repeats the existing condition: a merge patch replaces the list, and the service does not reconcile after a status change.
    await suite.server.kubernetes.apply({ ...consolePlugin('still', {}), status: { conditions: [other, condition] } });
    await suite.server.kubernetes.apply(withVersion('2'));
    const settled = await eventually(
      () => read('still'),
      ({ status }) => status?.version === '2',
    );
    expect(settled.status?.conditions).to.deep.include(other);
    expect(settled.status?.conditions?.map(({ type }) => type)).to.have.members(['Reviewed', 'Available']);
    // The plugin `turn` is reconciled in the next turn of the loop, together with `still`.
    await suite.server.kubernetes.apply(
      configMap('turn', ofPlugin('turn'), { data: { 'plugin-manifest.json': manifest('1') } }),
      consolePlugin('turn', {}),
    );
    await untilReason('turn', 'ManifestRead');
    expect((await read('still')).metadata.resourceVersion).to.equal(settled.metadata.resourceVersion);
  });

  it('is kept by one replica, and by none with features.pluginAssets off', async () => {
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases/atrium-plugin-states`;
    expect((await suite.server.kubernetes.call('GET', leases)).status).to.equal(200);
    const server = await startServer({ config: { features: { pluginAssets: false } } });
    try {
      expect((await server.kubernetes.call('GET', leases)).status).to.equal(404);
    } finally {
      await server.stop();
    }
  });
});
