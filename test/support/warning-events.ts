import type { ClusterAdmin } from './cluster-admin.ts';
import { eventually } from './cluster-admin.ts';

export interface WarningEvent {
  type: string;
  reason: string;
  message: string;
  involvedObject: { apiVersion: string; kind: string; name: string; uid: string };
}

/** Returns the Warning Events about a cluster-scoped object, by its kind and name. */
export async function warningsAbout(kubernetes: ClusterAdmin, kind: string, name: string): Promise<WarningEvent[]> {
  const { body } = await kubernetes.call('GET', '/api/v1/namespaces/default/events');
  return (body as { items: WarningEvent[] }).items.filter(
    ({ type, involvedObject }) => type === 'Warning' && involvedObject.kind === kind && involvedObject.name === name,
  );
}

/** Waits for that many Warning Events about the object. */
export const untilWarned = (kubernetes: ClusterAdmin, kind: string, name: string, count = 1): Promise<WarningEvent[]> =>
  eventually(
    () => warningsAbout(kubernetes, kind, name),
    (events) => events.length >= count,
  );
