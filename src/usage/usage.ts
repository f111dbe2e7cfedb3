/**
 * CPU and memory of pods, workloads, namespaces and nodes over time. The last hour is measured by each replica for itself; longer ranges come
 * from a Prometheus of the cluster. Rights are those of the caller.
 */
import type { ListsService } from '../listed-resources/service.ts';
import type { Feature, Services } from '../services.ts';
import { UsageBounds } from './bounds.ts';
import { measure } from './measurements.ts';
import { Prometheus } from './prometheus.ts';
import { usageOperations } from './routes.ts';
import { UsageService } from './service.ts';
import { UsagePoll, type UsagePollParts } from './usage-poll.ts';

/** @param earlier see `UsagePollParts` */
export function createUsage(services: Services, lists: ListsService, earlier: UsagePollParts['earlier']): Feature {
  const { client, config, log, now } = services;
  const { lastHour, prometheus } = config.console.metrics;
  const poll = new UsagePoll({
    ...{ isKept: lastHour, log, now },
    measure: (resource, signal) => measure(client, resource, signal),
    ...(earlier && { earlier }),
  });
  const service = new UsageService(services, {
    poll,
    prometheus: prometheus === undefined ? undefined : new Prometheus(services, prometheus),
    bounds: new UsageBounds(lists),
  });
  return {
    operations: usageOperations(service),
    checks: lastHour ? [{ name: 'usage', critical: false, failure: () => poll.absence('pods') ?? poll.absence('nodes') }] : [],
    start: () => poll.start(),
    stop: () => poll.stop(),
  };
}
