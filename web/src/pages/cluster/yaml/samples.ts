/** Objects to begin with, as kubectl's documentation writes them. */

import { type Resolve, resolved, type Schema } from '../../../api/schema-fields.ts';

interface Place {
  group: string;
  version: string;
  kind: string;
  isNamespaced: boolean;
  namespace: string | undefined;
}

const labels = { app: 'example' };
const pod = (more: object = {}) => ({
  containers: [{ name: 'main', image: 'busybox:1.37', command: ['sh', '-c', 'date; sleep 10'] }],
  ...more,
});

/** The members of each sample beside apiVersion, kind and metadata. */
const samples: Readonly<Record<string, object>> = {
  'Deployment.apps': {
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'web', image: 'nginx:1.29', ports: [{ containerPort: 80 }] }] },
      },
    },
  },
  Service: { spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 80 }] } },
  'Job.batch': { spec: { backoffLimit: 2, template: { spec: pod({ restartPolicy: 'Never' }) } } },
  'CronJob.batch': {
    spec: {
      schedule: '0 3 * * *',
      concurrencyPolicy: 'Forbid',
      jobTemplate: { spec: { template: { spec: pod({ restartPolicy: 'OnFailure' }) } } },
    },
  },
  ConfigMap: { data: { key: 'value' } },
  Secret: { type: 'Opaque', stringData: { key: 'value' } },
  'Ingress.networking.k8s.io': {
    spec: {
      rules: [
        {
          host: 'example.com',
          http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'example', port: { number: 80 } } } }] },
        },
      ],
    },
  },
  Namespace: {},
};

/** @param required of the schema of a kind without a sample of its own */
export function sampleOf({ group, version, kind, isNamespaced, namespace }: Place, required: object = {}): object {
  const name = hasSample(group, kind) ? 'example' : '';
  return {
    apiVersion: group ? `${group}/${version}` : version,
    kind,
    metadata: { name, ...(isNamespaced && { namespace: namespace ?? 'default' }) },
    ...(samples[group ? `${kind}.${group}` : kind] ?? required),
  };
}

export const hasSample = (group: string, kind: string): boolean => (group ? `${kind}.${group}` : kind) in samples;

/** A schema that refers to itself ends there. */
const deepest = 12;

const empty: Readonly<Record<string, unknown>> = { string: '', integer: 0, number: 0, boolean: false, array: [] };

/** Returns the required members of a schema with empty values. */
export function requiredOf(schema: Schema | undefined, resolve: Resolve, depth = 0): Record<string, unknown> {
  const { properties = {}, required = [] } = resolved(schema, resolve);
  if (depth > deepest) return {};
  const members = required.filter((name) => name !== 'metadata' && name !== 'apiVersion' && name !== 'kind' && name !== 'status');
  return Object.fromEntries(members.map((name) => [name, startValue(resolved(properties[name], resolve), resolve, depth)]));
}

function startValue(schema: Schema, resolve: Resolve, depth: number): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum?.[0] !== undefined) return schema.enum[0];
  return empty[schema.type ?? ''] ?? requiredOf(schema, resolve, depth + 1);
}
