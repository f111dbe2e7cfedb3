import { folded } from '@atrium/objects/folded.ts';
import { byTime, type ClusterEvent, lastOf, timesOf } from './event-times';

/** Events of one object with the same type and reason. */
export interface EventGroup {
  id: string;
  type: string;
  reason: string;
  /** The message of the latest event. */
  message: string;
  object: { group: string; kind: string; name: string; namespace: string | undefined };
  times: number;
  last: string;
}

/** Groups events by object and reason, the latest first. */
export function groupsOf(events: readonly ClusterEvent[]): EventGroup[] {
  return [...Map.groupBy(events, idOf)].map(([id, members]) => groupOf(id, members)).sort(latestFirst);
}

function idOf({ type, reason, involvedObject: { apiVersion, kind, name, namespace } = {} }: ClusterEvent): string {
  return JSON.stringify([apiVersion, kind, namespace, name, type, reason]);
}

function groupOf(id: string, members: readonly ClusterEvent[]): EventGroup {
  const latest = members.reduce((one, other) => (byTime(one, other) > 0 ? other : one));
  const { type = '', reason = '', message = '', involvedObject: { apiVersion = '', kind = '', name = '', namespace } = {} } = latest;
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
  const times = members.reduce((sum, one) => sum + timesOf(one), 0);
  return { id, type, reason, message, object: { group, kind, name, namespace }, times, last: lastOf(latest) };
}

const latestFirst = (a: EventGroup, b: EventGroup): number => Date.parse(b.last) - Date.parse(a.last) || (a.id < b.id ? -1 : 1);

export function matchesWords({ type, reason, message, object: { kind, name, namespace = '' } }: EventGroup, words: string): boolean {
  return [type, reason, message, `${kind}/${name}`, `${kind} ${name}`, namespace].some((text) => folded(text).includes(words));
}
