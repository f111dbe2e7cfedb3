import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { parseConfig } from '../../../src/config/load.ts';
import { startControlPlane } from '../../cluster/control-plane.ts';
import type { Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { namespace, objectsOf, one, render } from './chart.ts';
import { type Kubectl, kubectlFor } from './kubectl.ts';

const directory = fileURLToPath(new URL('../../../deploy/examples/', import.meta.url));
const chartPath = 'deploy/helm/atrium';
const values = z.record(z.string(), z.unknown());

/** Argo CD, application CRD (argoproj.io/v1alpha1). */
const applicationSchema = z.strictObject({
  apiVersion: z.literal('argoproj.io/v1alpha1'),
  kind: z.literal('Application'),
  metadata: z.strictObject({ name: z.string(), namespace: z.string() }),
  spec: z.strictObject({
    project: z.string(),
    source: z.strictObject({
      repoURL: z.url(),
      targetRevision: z.string(),
      path: z.literal(chartPath),
      helm: z.strictObject({ releaseName: z.literal('atrium'), valuesObject: values }),
    }),
    destination: z.strictObject({ server: z.url(), namespace: z.literal(namespace) }),
    syncPolicy: z.strictObject({
      managedNamespaceMetadata: z.strictObject({ labels: z.record(z.string(), z.string()) }),
      syncOptions: z.array(z.string().regex(/^\w+=\w+$/)),
    }),
  }),
});

/** Flux, helm-controller API (helm.toolkit.fluxcd.io/v2). */
const helmReleaseSchema = z.strictObject({
  apiVersion: z.literal('helm.toolkit.fluxcd.io/v2'),
  kind: z.literal('HelmRelease'),
  metadata: z.strictObject({ name: z.literal('atrium'), namespace: z.literal(namespace) }),
  spec: z.strictObject({
    interval: z.string(),
    chart: z.strictObject({
      spec: z.strictObject({
        chart: z.literal(chartPath),
        sourceRef: z.strictObject({ kind: z.literal('GitRepository'), name: z.literal('atrium') }),
        reconcileStrategy: z.literal('Revision'),
      }),
    }),
    values,
  }),
});

/** Returns the values of an example: the whole file, or those in an object of a GitOps tool. */
function valuesIn(name: string): unknown {
  const text = readFileSync(join(directory, name), 'utf8');
  const objects = objectsOf(text);
  if (name === 'argo-cd.yaml') return applicationSchema.parse(objects[0]).spec.source.helm.valuesObject;
  if (name === 'flux.yaml') return helmReleaseSchema.parse(one(objects, 'HelmRelease')).spec.values;
  return parse(text);
}

/** Kinds that the API server of the test does not have. */
const foreign: Readonly<Record<string, readonly string[]>> = {
  'gke.yaml': ['BackendConfig', 'ManagedCertificate'],
  'openshift.yaml': ['ServiceMonitor'],
};

describe('deploy/examples', () => {
  const plane = forSuite(() => startControlPlane({ people: ['admin'] }));
  let kubectl: Kubectl;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atrium-examples-'));
    kubectl = kubectlFor(plane.kubeconfig);
    await kubectl(['create', 'namespace', namespace]);
    await kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
  });
  after(() => rm(folder, { recursive: true }));

  const rendered = async (name: string): Promise<Manifest[]> => {
    const file = join(folder, name);
    await writeFile(file, stringify(valuesIn(name)));
    return render({}, `--values=${file}`);
  };

  for (const name of readdirSync(directory)) {
    it(`have values that the chart takes, and objects that a real API server takes: ${name}`, async () => {
      const objects = await rendered(name);
      const others = foreign[name] ?? [];
      const native = objects.filter(({ kind }) => !others.includes(kind));
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: native });

      const lines = await kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '--filename=-'], list);
      expect(lines.trim().split('\n')).to.have.length(native.length);
      expect(objects.flatMap(({ kind }) => (others.includes(kind) ? [kind] : []))).to.have.members(others);
    });

    it(`have settings that the service takes, and keep watches open on the way in: ${name}`, async () => {
      const objects = await rendered(name);
      const { annotations } = one(objects, 'Ingress').metadata;
      const config = z.object({ 'config.yaml': z.string() }).parse(one(objects, 'ConfigMap', 'atrium-config').data);

      expect(parseConfig({ yaml: config['config.yaml'] }).server.trustedProxies).not.to.deep.equal([]);
      // GKE has the timeout in the BackendConfig.
      expect(JSON.stringify([annotations, ...objects.filter(({ kind }) => kind === 'BackendConfig')])).to.match(/3600|timeout":"1h/);
    });
  }

  it('have a flux.yaml with objects that belong together', () => {
    const objects = objectsOf(readFileSync(join(directory, 'flux.yaml'), 'utf8'));

    expect(objects.map(({ apiVersion, kind, metadata }) => [apiVersion, kind, metadata.namespace ?? metadata.name])).to.deep.equal([
      ['v1', 'Namespace', namespace],
      ['source.toolkit.fluxcd.io/v1', 'GitRepository', namespace],
      ['helm.toolkit.fluxcd.io/v2', 'HelmRelease', namespace],
    ]);
  });
});
