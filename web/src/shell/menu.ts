import { Bell, Boxes, type IconNode, Puzzle } from 'lucide';
import { eventsPage } from '../api/kinds';
import { useFeature, useFeatures } from '../api/version';
import { useClusterMenu } from '../app/cluster-menu';
import { entriesUnder, pluginEntries } from '../app/extensions';
import { namespace } from '../app/namespace';
import { inbox } from '../app/own-requests';
import { useRights } from '../app/rights';
import { count, t } from '../text/text';
import { menu } from './pages';

export interface ShownEntry {
  to: string;
  /** The entry is marked while the page is below this path. */
  within?: string;
  text: string;
  icon: IconNode;
  /** Number of things that wait behind the entry, and its meaning. */
  badge?: { count: string; label: string } | undefined;
}

export type Sections = ReturnType<typeof useMenu>;

/** Returns the sections of the menu with the entries of plugins, without pages of disabled features and without empty sections. */
export function useMenu() {
  useRights(pluginEntries.value.flatMap(({ rights }) => rights));
  const kinds = useClusterMenu();
  const isOn = useFeatures();
  const known: Readonly<Record<string, boolean>> = { accessRequests: useFeature('accessRequests'), audit: useFeature('audit') };
  const events = { to: eventsPage(namespace.value), within: eventsPage(), text: t('cluster.recentEvents'), icon: Bell };
  const ofCluster: readonly ShownEntry[] = kinds ? [...kinds, events, { to: '/kinds', text: t('cluster.kinds'), icon: Boxes }] : [];
  return menu
    .map(({ place, label, entries }) => ({
      label: label && t(label),
      entries: [
        ...(place === 'cluster' ? ofCluster : []),
        ...entries
          .filter(({ feature }) => feature === undefined || (known[feature] ?? isOn(feature)))
          .map(({ to, label: key, icon }): ShownEntry => ({ to, icon, text: t(key), ...(to === '/requests' && waiting(to)) })),
        ...(place === undefined ? [] : entriesUnder(place)).map(
          (entry): ShownEntry => ({ to: entry.to, icon: Puzzle, text: entry.label() }),
        ),
      ],
    }))
    .filter(({ entries }) => entries.length > 0);
}

/** Number of requests that wait for the user. While there is one, the entry leads to what it counts. */
function waiting(within: string): Partial<ShownEntry> {
  const { length } = inbox.value;
  if (length === 0) return {};
  return { to: `${within}?view=inbox`, within, badge: { count: count(length), label: t('requests.waiting', { count: length }) } };
}
