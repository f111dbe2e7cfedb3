import { z } from 'zod';

export const ranges = ['1h', '6h', '1d', '7d'] as const;
export type Range = (typeof ranges)[number];

/** Causes of missing figures. */
const absences = ['NotKept', 'NotMeasuredYet', 'NotInstalled', 'RightsMissing', 'TooMany', 'Unavailable'] as const;
export type Absence = (typeof absences)[number];

/** Resources that metrics-server measures. */
export type Measured = 'pods' | 'nodes';

/** Kinds of workloads, with the API group of each. */
export const workloadGroups = {
  deployments: 'apps',
  replicasets: 'apps',
  statefulsets: 'apps',
  daemonsets: 'apps',
  jobs: 'batch',
  cronjobs: 'batch',
} as const;
type WorkloadResource = keyof typeof workloadGroups;
const resources = ['pods', ...(Object.keys(workloadGroups) as WorkloadResource[])] as const;

/** DNS subdomain: other texts are no name, and reach no query. */
const objectName = (what: string) =>
  z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/)
    .describe(what);

export const ofNode = z.object({ name: objectName('Name of the node.') });
export const ofNamespace = z.object({ namespace: objectName('Namespace.') });
export const ofObject = ofNamespace.extend({
  resource: z.enum(resources).describe('Plural of the resource.'),
  name: objectName('Name of the object.'),
});

export const usageQuery = z.object({
  range: z
    .enum(ranges)
    .default('1h')
    .describe('Time until now. More than an hour needs `console.metrics.prometheus`; others are 400. Default: `1h`.'),
});

const point = z.object({
  time: z.string().describe('RFC 3339.'),
  count: z.int().nullable().describe('Number of measured pods or nodes. 0: none of them ran. `null`: nothing was measured at that time.'),
  cpu: z.number().nullable().describe('Used cores. `null` where `count` is 0 or `null`.'),
  memory: z.number().nullable().describe('Bytes of the working set. `null` where `count` is 0 or `null`.'),
});

const amounts = z.object({ cpu: z.number().describe('Cores.'), memory: z.number().describe('Bytes.') });

export const usageHistory = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('UsageHistory'),
    source: z.enum(['metrics-server', 'prometheus']).describe('`metrics-server`: measured by this replica through `metrics.k8s.io`.'),
    range: z.enum(ranges),
    ranges: z.array(z.enum(ranges)).describe('Ranges that the service offers.'),
    start: z.string().describe('Begin of the range, RFC 3339.'),
    end: z.string().describe('End of the range, RFC 3339.'),
    stepSeconds: z.int().describe('Time between two points.'),
    since: z.string().optional().describe('Time of the first point, if the replica has measured for less than the range.'),
    unavailable: z
      .object({ reason: z.enum(absences), message: z.string() })
      .optional()
      .describe('Cause by which the last measurement failed. Earlier points are answered all the same.'),
    bounds: z
      .object({
        capacity: amounts.optional().describe('Amounts that pods can request of the nodes; not of a namespace.'),
        requests: amounts.optional().describe('Sum of the requests of pods that run or wait.'),
        limits: amounts.optional().describe('Sum of the limits. A container without a limit adds nothing.'),
      })
      .optional()
      .describe(
        'Bounds of now, of the cluster, a node or a namespace. Sums are left out if `lists` does not name pods and nodes, and for callers who may not list them all.',
      ),
    points: z.array(point).describe('In the order of time.'),
  })
  .meta({
    id: 'UsageHistory',
    examples: [
      {
        ...{ apiVersion: 'auth.platform.io/v1', kind: 'UsageHistory', source: 'metrics-server', range: '1h', ranges: ['1h'] },
        ...{ start: '2026-01-12T09:00:00Z', end: '2026-01-12T10:00:00Z', stepSeconds: 60, since: '2026-01-12T09:58:00Z' },
        points: [
          { time: '2026-01-12T09:58:00Z', count: 2, cpu: 0.125, memory: 134217728 },
          { time: '2026-01-12T09:59:00Z', count: null, cpu: null, memory: null },
        ],
      },
    ],
  });

export type UsageHistory = z.output<typeof usageHistory>;

/** Pods of a namespace, of one object in it, or all of them. */
export interface PodsTarget {
  namespace: string;
  range: Range;
  of?: { resource: 'pods' | WorkloadResource; name: string };
}
