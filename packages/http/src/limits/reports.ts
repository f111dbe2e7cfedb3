import type { Metrics } from '../telemetry/metrics.ts';

/** Bounded work of one class, whose flows take turns. */
interface Places {
  readonly running: number;
  readonly waiting: number;
}

/**
 * Reports the places of bounded work.
 *
 * @param name class of the work; places of one class are added up
 */
export function reportPlaces(metrics: Metrics, name: string, places: Places): void {
  metrics.read(
    {
      name: 'atrium_places',
      help: 'Work by class and state: running, or waiting for its turn. Classes are people, strangers and static for requests, and kubernetes, issuer, directory, passwords, plugins and mail for calls to them.',
      labelNames: ['class', 'state'],
    },
    () => [
      [{ class: name, state: 'running' }, places.running],
      [{ class: name, state: 'waiting' }, places.waiting],
    ],
  );
}

/** Reports the number of entries of a bounded cache. */
export function reportCache(metrics: Metrics, cache: string, entries: () => number): void {
  metrics.read({ name: 'atrium_cache_entries', help: 'Entries of the bounded caches.', labelNames: ['cache'] }, () => [
    [{ cache }, entries()],
  ]);
}
