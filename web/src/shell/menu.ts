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
  /** It is marked while the page is below this. */
  within?: string;
  text: string;
  icon: IconNode;
}

export type Sections = ReturnType<typeof useMenu>;

/** Sections of the menu with what plugins add to them; without pages of features that are off, and sections that have nothing. */
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
