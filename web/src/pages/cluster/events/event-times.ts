/** Times of events as kubectl shows them. Source: printEvent of kube-apiserver. */

export interface ClusterEvent {
  metadata: { uid: string; creationTimestamp: string; namespace?: string };
  involvedObject?: { apiVersion?: string; kind?: string; name?: string; namespace?: string };
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  eventTime?: string | null;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  series?: { count?: number; lastObservedTime?: string };
}

/** Returns the last time of an event. kubectl has none for an event without times, the console shows its creation. */
export const lastOf = ({ series, lastTimestamp, eventTime, firstTimestamp, metadata }: ClusterEvent): string =>
  series?.lastObservedTime ?? lastTimestamp ?? firstTimestamp ?? eventTime ?? metadata.creationTimestamp;

/** Compares events by their last time, the latest first. Times have seconds or microseconds: as texts they would not compare. */
export const byTime = (a: ClusterEvent, b: ClusterEvent): number => Date.parse(lastOf(b)) - Date.parse(lastOf(a));

/** Returns how often an event was seen. The API leaves the count of a single event out. */
export const timesOf = ({ count, series }: ClusterEvent): number => series?.count ?? (count || 1);
