/** Formats of the columns of Events. Source: printEvent of kube-apiserver. */

import { since } from './age.ts';
import { at, type KubernetesObject } from './objects.ts';

const lastTime = (event: KubernetesObject): unknown => {
  const series = at(event, 'series');
  return series ? at(series, 'lastObservedTime') : at(event, 'lastTimestamp') || firstTime(event);
};

const firstTime = (event: KubernetesObject): unknown => at(event, 'firstTimestamp') || at(event, 'eventTime');

function eventObject(event: KubernetesObject): string {
  const kind = String(at(event, 'involvedObject.kind') ?? '').toLowerCase();
  const name = at(event, 'involvedObject.name');
  return name ? `${kind}/${name}` : kind;
}

function eventSource(event: KubernetesObject): string {
  const component = at(event, 'source.component') || at(event, 'reportingComponent') || '';
  const instance = at(event, 'source.host') || at(event, 'reportingInstance');
  return instance ? `${component}, ${instance}` : String(component);
}

export const eventFormats = {
  lastSeen: (_: unknown, event: KubernetesObject, now: Date) => since(lastTime(event), now),
  firstSeen: (_: unknown, event: KubernetesObject, now: Date) => since(firstTime(event), now),
  eventCount: (_: unknown, event: KubernetesObject) => (at(event, 'series') ? at(event, 'series.count') : at(event, 'count') || 1),
  eventObject: (_: unknown, event: KubernetesObject) => eventObject(event),
  eventSource: (_: unknown, event: KubernetesObject) => eventSource(event),
  trimmed: ([text]: readonly unknown[]) => String(text ?? '').trim(),
};
