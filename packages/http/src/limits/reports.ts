import type { Metrics } from '../telemetry/metrics.ts';

/** Bounded work of one class. */
interface Bounded {
  /** Number of refused tasks since the start. */
  readonly refused: number;
}

/** Bounded work whose flows take turns. */
interface Places extends Bounded {
  readonly running: number;
  readonly waiting: number;
}

/**
 * Reports the places of bounded work, and its refusals.
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
  reportRefusals(metrics, name, places);
}

/** Reports the refusals of work that is bounded for one caller, group or list. */
export function reportRefusals(metrics: Metrics, name: string, bounded: Bounded): void {
  metrics.read(
    {
      name: 'atrium_places_refused_total',
      help: 'Work that found no place left, by class: those of atrium_places, and work that is bounded for one caller, group or list. Requests answer it with 429 or 503.',
      labelNames: ['class'],
      type: 'counter',
    },
    () => [[{ class: name }, bounded.refused]],
  );
}

/** Reports the number of entries of a bounded cache. */
export function reportCache(metrics: Metrics, cache: string, entries: () => number): void {
  metrics.read({ name: 'atrium_cache_entries', help: 'Entries of the bounded caches.', labelNames: ['cache'] }, () => [
    [{ cache }, entries()],
  ]);
}
