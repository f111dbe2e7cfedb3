/** Kinds that `lists.resources` names, as far as this browser remembers them. */
import { api, bodyOf, type Schemas, storageKey } from './client';
import { type KindPlace, pathPlaceOf } from './kinds';
import { asProblem } from './problem';
import { windowSize } from './window-size';

const offeredKey = storageKey('offered-kinds');

const idOf = ({ group, version, resource }: KindPlace): string => [group, version, resource].join('/');

let known: { text: string; offered: Schemas['OfferedResourceList'] } | undefined;

/** @returns the same kinds for the same answer, so that a page that shows them stays as it is */
export async function fetchOffered(signal?: AbortSignal) {
  try {
    const offered = await bodyOf(api.GET('/api/v2/resources', signal ? { signal } : {}));
    localStorage.setItem(offeredKey, offered.items.map(idOf).join(' '));
    const text = JSON.stringify(offered);
    if (known?.text !== text) known = { text, offered };
    return known.offered;
  } catch (error) {
    // A service without this operation lists no kind.
    if (asProblem(error).isUnknownPath) localStorage.setItem(offeredKey, '');
    throw error;
  }
}

let isRunning = false;

/** Loads the list of kinds unless this browser remembers it. */
export async function learnOffered(): Promise<void> {
  if (isRunning || localStorage.getItem(offeredKey) !== null) return;
  isRunning = true;
  await fetchOffered().catch(() => undefined);
  isRunning = false;
}

/** Returns whether the service had a list of a kind when it was last asked; undefined if it never was. */
export const wasOffered = (place: KindPlace): boolean | undefined => localStorage.getItem(offeredKey)?.split(' ').includes(idOf(place));

/** The list of a kind at the service, below the base path. */
export function offeredPath(kind: KindPlace, namespace: string | undefined): string {
  const { group, version, resource } = pathPlaceOf(kind);
  return `api/v2/resources/${group}/${version}/${resource}${namespace === undefined ? '' : `/namespaces/${namespace}`}`;
}

const isEvents = ({ group, resource }: Pick<KindPlace, 'group' | 'resource'>): boolean =>
  resource === 'events' && (group === '' || group === 'events.k8s.io');

/** Returns the property by which a list is ordered at first, with `-` before it for the other direction: the latest events come first. */
export const firstOrder = (kind: Pick<KindPlace, 'group' | 'resource'>): string => (isEvents(kind) ? '-lastSeen' : 'name');

interface OfferedQuery {
  search: string;
  labelSelector: string;
}

/** Returns the parameters that select rows of the list of a kind at the service. */
export const offeredQuery = ({ search, labelSelector }: OfferedQuery): Partial<OfferedQuery> => ({
  ...(search && { search: search.slice(0, 128) }),
  ...(labelSelector && { labelSelector }),
});

/** Returns the parameters that order the rows, and of one window of them. */
export const windowQuery = (sort: string, page: number) => ({ sortBy: sort, page, limit: windowSize });
