import { z } from 'zod';

/** Address of a Service in the form of the API server's service proxy. */
const servicePattern = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\/((?:https:)?[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?:[a-z0-9-]{1,15})$/;

/** Returns the namespace of a Service, and its name in the path of the service proxy. */
export function proxiedService(text: string): { namespace: string; name: string } {
  const [, namespace = '', name = ''] = servicePattern.exec(text) ?? [];
  return { namespace, name };
}

export const metricsSection = z.strictObject({
  lastHour: z
    .boolean()
    .default(false)
    .describe(
      'Keeps the CPU and memory of pods and nodes of the last hour in memory, one point a minute, for callers who may list these metrics ([usage](usage.md)). The account of the service needs `list` on `pods` and `nodes` of `metrics.k8s.io`.',
    ),
  prometheus: z
    .string()
    .regex(servicePattern, 'must be NAMESPACE/SERVICE:PORT such as monitoring/prometheus:9090, with https: before the service for TLS')
    .optional()
    .describe(
      'Service of a Prometheus with the metrics of cAdvisor, as `NAMESPACE/SERVICE:PORT`, for usage of up to seven days. Asked through the API server with the rights of the caller, who needs `get` on `services/proxy` of it.',
    ),
});
