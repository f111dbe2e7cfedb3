/** Answers of metrics-server in front of the cluster, which does not serve metrics.k8s.io itself. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiServerBetween } from '../proxy/api-server-between.ts';

interface Used {
  cpu: string;
  memory: string;
}

export const aPodMetrics = (namespace: string, name: string, labels: Record<string, string>, ...containers: Used[]) => ({
  metadata: { name, namespace, labels, creationTimestamp: '2026-03-01T12:00:00Z' },
  timestamp: '2026-03-01T12:00:00Z',
  window: '15s',
  containers: containers.map((usage, index) => ({ name: `c${index}`, usage })),
});

export const aNodeMetrics = (name: string, usage: Used) => ({ metadata: { name, labels: {} }, timestamp: '2026-03-01T12:00:00Z', usage });

/** Lists of metrics; the tests replace them. */
export class MetricsServer {
  readonly between = new ApiServerBetween('/apis/metrics.k8s.io/v1beta1/');
  items: Readonly<Record<string, unknown[]>> = {};
  /** Set for an answer that is no list. */
  answer: ((response: ServerResponse) => void) | undefined;

  constructor() {
    this.between.handle = (request: IncomingMessage, response: ServerResponse) => {
      const resource = request.url?.split('/').at(-1) ?? '';
      if (this.answer !== undefined) return this.answer(response);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ kind: 'List', apiVersion: 'metrics.k8s.io/v1beta1', metadata: {}, items: this.items[resource] ?? [] }));
    };
  }
}
