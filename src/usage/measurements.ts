/** Reads the usage of all pods or nodes from `metrics.k8s.io` with the service's own account. */
import { SharedValues } from '@atrium/http/limits/bounded-cache.ts';
import { Deadline } from '@atrium/kubernetes/deadline.ts';
import { type ServiceClient, whileInstalled } from '@atrium/kubernetes/own-account.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { isRecord, reader } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import { boundedText } from './bounded-text.ts';
import type { Sample } from './usage-ring.ts';

const timeoutMs = 30_000;
/** Bound of an answer: some 100,000 pods. */
const maxAnswerBytes = 64 * 1024 * 1024;

const usage = z.object({ cpu: z.string(), memory: z.string() });
const readMetrics = reader(
  z.object({
    metadata: z.object({ name: z.string(), namespace: z.string(), labels: z.looseObject({}) }),
    usage,
    containers: z.array(z.object({ usage })),
  }),
);

const sharedLabels = new SharedValues<Sample['labels']>(4 * 1024 * 1024);

/** Returns the usage of every measured pod or node. @throws StatusError 503, 504, UpstreamError */
export async function measure(client: ServiceClient, resource: 'pods' | 'nodes', signal: AbortSignal): Promise<Sample[]> {
  const deadline = new Deadline(signal, timeoutMs);
  const type = { group: 'metrics.k8s.io', version: 'v1beta1', resource };
  try {
    return await whileInstalled({ client, signal: deadline.signal }, type, async () => {
      const call = {
        call: `list ${resource}.metrics`,
        method: 'GET',
        path: `/apis/metrics.k8s.io/v1beta1/${resource}`,
        isLong: false,
      } as const;
      const { body } = await client.stream({ ...call, signal: deadline.signal });
      return samplesIn(JSON.parse(await boundedText(body, maxAnswerBytes)), resource);
    });
  } finally {
    deadline.end();
  }
}

/** Returns the samples of a PodMetricsList or NodeMetricsList. An item whose figures cannot be read is left out: it is not zero. */
export function samplesIn(list: unknown, resource: 'pods' | 'nodes'): Sample[] {
  const items: unknown[] = isRecord(list) && Array.isArray(list.items) ? list.items : [];
  return items.flatMap((item) => {
    const { metadata: { name = '', namespace = '', labels = {} } = {}, usage: own, containers = [] } = readMetrics(item);
    const parts = own === undefined ? containers.map((container) => container.usage) : [own];
    const [cpu, memory] = [sumOf(parts.map((part) => part?.cpu)), sumOf(parts.map((part) => part?.memory))];
    if (name === '' || parts.length === 0 || cpu === undefined || memory === undefined) return [];
    const key = resource === 'pods' ? `${namespace}/${name}` : name;
    return [{ key, labels: sharedLabels.of(JSON.stringify(labels), labels as Sample['labels']), cpu, memory }];
  });
}

function sumOf(quantities: readonly (string | undefined)[]): number | undefined {
  let sum = 0;
  for (const text of quantities) {
    const amount = quantityOf(text ?? '');
    if (amount === undefined) return undefined;
    sum += amount;
  }
  return sum;
}
