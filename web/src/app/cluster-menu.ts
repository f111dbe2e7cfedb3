/** Kinds of the cluster in the menu: the pinned ones that the cluster has. */
import { signal } from '@preact/signals';
import { Bell, Box, Boxes, Briefcase, Database, FileText, FolderTree, type IconNode, KeySquare, Layers, Network, Server } from 'lucide';
import { storageKey } from '../api/client';
import { fetchKinds, isListable, type Kind, kindId, pageOf } from '../api/kinds';
import { useLoad } from '../api/load';
import { namespace } from './namespace';

const pinsKey = storageKey('pinned-kinds');
const usual = ['pods', 'deployments.apps', 'services', 'configmaps', 'secrets', 'nodes', 'namespaces'];

const icons: Readonly<Record<string, IconNode>> = {
  pods: Box,
  'deployments.apps': Layers,
  services: Network,
  configmaps: FileText,
  secrets: KeySquare,
  nodes: Server,
  namespaces: FolderTree,
  events: Bell,
  'jobs.batch': Briefcase,
  persistentvolumeclaims: Database,
};

/** @param id as `kindId` gives it */
export const kindIcon = (id: string): IconNode => icons[id] ?? Boxes;

function readPins(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(pinsKey) ?? '');
    return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : usual;
  } catch {
    return usual;
  }
}

const pins = signal<readonly string[]>(readPins());

export const isPinned = (kind: Kind): boolean => pins.value.includes(kindId(kind));

export function togglePin(kind: Kind): void {
  const id = kindId(kind);
  pins.value = isPinned(kind) ? pins.value.filter((one) => one !== id) : [...pins.value, id];
  localStorage.setItem(pinsKey, JSON.stringify(pins.value));
}

export interface KindEntry {
  to: string;
  /** The page is marked in the menu while it is below this. */
  within: string;
  text: string;
  icon: IconNode;
}

/** Returns undefined before the cluster has answered, or if it cannot: then the menu has no cluster. */
export function useClusterMenu(): readonly KindEntry[] | undefined {
  const kinds = useLoad('kinds', fetchKinds).data.value;
  return kinds && pins.value.flatMap((id) => entryOf(kinds, id));
}

function entryOf(kinds: readonly Kind[], id: string): KindEntry[] {
  const kind = kinds.find((one) => one.isPreferred && kindId(one) === id && isListable(one));
  if (kind === undefined) return [];
  const chosen = kind.isNamespaced && namespace.value ? { namespace: namespace.value } : {};
  return [{ to: pageOf(kind, chosen), within: pageOf(kind), text: kind.title, icon: kindIcon(id) }];
}
