/** Kinds of objects in the cluster, from its discovery. The browser caches the answer, and revalidates it by its ETag. */
import { type Signal, signal } from '@preact/signals';
import { call, writesSoFar } from './client';
import { type Discovery, discoveryAccept, type Kind, kindsOf, staleVersionsOf } from './discovery.ts';
import { type Place, pagePath, segments } from './page-path.ts';

export type { Kind } from './discovery.ts';
export { kindId } from './object-types.ts';

/** Groups in a version whose server the API server cannot reach: their kinds are missing or outdated. */
export const staleGroups: Signal<readonly string[]> = signal([]);

let asked: { writes: number; answer: Promise<readonly Kind[]> } | undefined;
let known: { texts: string; kinds: readonly Kind[] } | undefined;

/** Loads the kinds. The menu, the namespaces and the page share one answer, until another page is opened or something is written. */
export function fetchKinds(): Promise<readonly Kind[]> {
  if (asked?.writes === writesSoFar()) return asked.answer;
  const mine = { writes: writesSoFar(), answer: readKinds() };
  asked = mine;
  mine.answer.catch(() => {
    if (asked === mine) asked = undefined;
  });
  return mine.answer;
}

/** Makes the next caller load the kinds again. */
export function forgetKinds(): void {
  asked = undefined;
}

/** @returns the same kinds for the same answer, so that a page that shows them stays as it is */
async function readKinds(): Promise<readonly Kind[]> {
  const read = async (path: string) => (await call(`api/kubernetes/${path}`, { headers: { Accept: discoveryAccept } })).text();
  const answers = await Promise.all(['api', 'apis'].map(read));
  const texts = answers.join('\n');
  if (known?.texts !== texts) known = { texts, kinds: kindsIn(answers.map((text) => JSON.parse(text) as Discovery)) };
  return known.kinds;
}

function kindsIn(answers: readonly Discovery[]): readonly Kind[] {
  const groups = answers.flatMap(({ items = [] }) => items);
  staleGroups.value = groups.flatMap(staleVersionsOf);
  return groups.flatMap(kindsOf);
}

/** A group, version and resource, as discovery and addresses name them. */
export type KindPlace = Pick<Kind, 'group' | 'version' | 'resource'>;

const core = 'core';

/** Returns a kind as the paths of pages and of the service name it: the core group has a name there. */
export const pathPlaceOf = ({ group, version, resource }: KindPlace): KindPlace => ({ group: group || core, version, resource });

/** Returns the kind that the parameters of a page name. */
export const placeInPath = ({ group = '', version = '', resource = '' }: Partial<KindPlace>): KindPlace => ({
  ...{ group: group === core ? '' : group, version, resource },
});

/** Finds the kind that the parameters of a page name. */
export const kindInPath = (kinds: readonly Kind[] | undefined, params: Partial<KindPlace>): Kind | undefined => {
  const { group, version, resource } = placeInPath(params);
  return kinds?.find((kind) => kind.group === group && kind.version === version && kind.resource === resource);
};

export const isListable = ({ verbs }: Kind): boolean => verbs.includes('list');

/** Returns the path of a kind or an object at the Kubernetes API, below the base path. */
export function apiPath({ group, version, resource }: KindPlace, { namespace, name, subresource }: Place = {}): string {
  const root = group ? segments('apis', group, version) : segments('api', version);
  return `api/kubernetes/${root}/${segments(...(namespace ? ['namespaces', namespace] : []), resource, name, subresource)}`;
}

/** Returns the page of a kind, or of one of its objects. */
export function pageOf(kind: KindPlace, place: Place = {}, tab?: string): string {
  return pagePath(pathPlaceOf(kind), place, tab);
}

/** Returns the page that creates an object of a kind. */
export function newPageOf(kind: KindPlace, namespace: string | undefined): string {
  const { group, version, resource } = pathPlaceOf(kind);
  return `/new/${segments(group, version, resource, ...(namespace ? ['ns', namespace] : []))}`;
}

/** Returns the page of the events of a namespace, or of all namespaces. */
export const eventsPage = (namespace = ''): string => (namespace ? `/events/${encodeURIComponent(namespace)}` : '/events');
