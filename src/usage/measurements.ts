/** Reads the usage of all pods or nodes from `metrics.k8s.io` with the service's own account. */
import { SharedValues } from '@atrium/http/limits/bounded-cache.ts';
import { Deadline } from '@atrium/kubernetes/deadline.ts';
import { JsonItems } from '@atrium/kubernetes/json-items.ts';
import { type ServiceClient, whileInstalled } from '@atrium/kubernetes/own-account.ts';
import { Slices } from '@atrium/kubernetes/slices.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { isRecord, reader } from '@atrium/objects/reader.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Measured } from './schema.ts';
import type { Sample } from './usage-ring.ts';

const timeoutMs = 30_000;
/** Bound of an answer: some 50,000 pods, of which 20,000 can be kept. */
const maxAnswerBytes = 32 * 1024 * 1024;
/** Bound of an item. A pod with 100 containers takes 10 KB. */
const maxItemBytes = 1024 * 1024;
/** Items that are read in one turn of the event loop, some 2 ms. */
const maxItemsInTurn = 250;

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
export async function measure(client: ServiceClient, resource: Measured, signal: AbortSignal): Promise<Sample[]> {
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
      return samplesFrom(body, resource);
    });
  } finally {
    deadline.end();
  }
}

/** Reads a list while it arrives. metrics-server answers in one piece, which would hold the event loop while it is parsed. */
async function samplesFrom(body: AsyncIterable<Buffer>, resource: Measured): Promise<Sample[]> {
  const samples: Sample[] = [];
  const items = new JsonItems(maxItemBytes);
  const slices = new Slices(undefined, undefined, maxItemsInTurn);
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) throw unreadable(`the answer has more than ${maxAnswerBytes} bytes`);
    for (const item of itemsOf(items, chunk)) {
      samples.push(...sampleIn(item, resource));
      const turn = slices.end();
      if (turn !== undefined) await turn;
    }
  }
  if (!items.isComplete) throw unreadable('the answer is not a whole list');
  return samples;
}

function* itemsOf(items: JsonItems, chunk: Buffer): Generator<unknown> {
  try {
    yield* items.push(chunk);
  } catch (error) {
    throw unreadable('an item cannot be read', error);
  }
}

const unreadable = (message: string, cause?: unknown) => serviceUnavailable('kubernetes', { cause: new Error(message, { cause }) });

/** Returns the samples of a PodMetricsList or NodeMetricsList. */
export function samplesIn(list: unknown, resource: Measured): Sample[] {
  const items: unknown[] = isRecord(list) && Array.isArray(list.items) ? list.items : [];
  return items.flatMap((item) => sampleIn(item, resource));
}

/** Returns the sample of an item. An item whose figures cannot be read has none: it is not zero. */
function sampleIn(item: unknown, resource: Measured): Sample[] {
  const { metadata: { name = '', namespace = '', labels = {} } = {}, usage: own, containers = [] } = readMetrics(item);
  const parts = own === undefined ? containers.map((container) => container.usage) : [own];
  const [cpu, memory] = [sumOf(parts.map((part) => part?.cpu)), sumOf(parts.map((part) => part?.memory))];
  if (name === '' || parts.length === 0 || cpu === undefined || memory === undefined) return [];
  const key = resource === 'pods' ? `${namespace}/${name}` : name;
  return [{ key, labels: sharedLabels.of(JSON.stringify(labels), labels as Sample['labels']), cpu, memory }];
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
