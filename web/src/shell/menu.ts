import { Bell, Boxes, type IconNode, Puzzle } from 'lucide';
import { eventsPage } from '../api/kinds';
import { useFeatures } from '../api/version';
import { useClusterMenu } from '../app/cluster-menu';
import { entriesUnder, pluginEntries } from '../app/extensions';
import { namespace } from '../app/namespace';
import { useRights } from '../app/rights';
import { t } from '../text/text';
import { menu } from './pages';

export interface ShownEntry {
  to: string;
  /** The entry is marked while the page is below this path. */
  within?: string;
  text: string;
  icon: IconNode;
}

export type Sections = ReturnType<typeof useMenu>;

/** Returns the sections of the menu with the entries of plugins, without pages of disabled features and without empty sections. */
export function useMenu() {
  useRights(pluginEntries.value.flatMap(({ rights }) => rights));
  const kinds = useClusterMenu();
  const isOn = useFeatures();
  const events = { to: eventsPage(namespace.value), within: eventsPage(), text: t('cluster.recentEvents'), icon: Bell };
  const ofCluster: readonly ShownEntry[] = kinds ? [...kinds, events, { to: '/kinds', text: t('cluster.kinds'), icon: Boxes }] : [];
  return menu
    .map(({ place, label, entries }) => ({
      label: label && t(label),
      entries: [
        ...(place === 'cluster' ? ofCluster : []),
        ...entries
          .filter(({ feature }) => feature === undefined || isOn(feature))
          .map(({ to, label: key, icon }): ShownEntry => ({ to, icon, text: t(key) })),
        ...(place === undefined ? [] : entriesUnder(place)).map(
          (entry): ShownEntry => ({ to: entry.to, icon: Puzzle, text: entry.label() }),
        ),
      ],
    }))
    .filter(({ entries }) => entries.length > 0);
}
