/** Kinds that `lists.resources` names, as far as this browser remembers them. */
import { api, bodyOf, storageKey } from './client';
import type { Kind } from './kinds';

type KindPlace = Pick<Kind, 'group' | 'version' | 'resource'>;

const offeredKey = storageKey('offered-kinds');

const idOf = ({ group, version, resource }: KindPlace): string => [group, version, resource].join('/');

export async function fetchOffered(signal?: AbortSignal) {
  const offered = await bodyOf(api.GET('/api/v2/resources', signal ? { signal } : {}));
  localStorage.setItem(offeredKey, offered.items.map(idOf).join(' '));
  return offered;
}

/** Returns whether the service had a list of a kind when it was last asked; undefined if it never was. */
export const wasOffered = (place: KindPlace): boolean | undefined => localStorage.getItem(offeredKey)?.split(' ').includes(idOf(place));

/** The list of a kind at the service, below the base path. */
export const offeredPath = ({ group, version, resource }: KindPlace, namespace: string | undefined): string =>
  `api/v2/resources/${group || 'core'}/${version}/${resource}${namespace === undefined ? '' : `/namespaces/${namespace}`}`;
