import type { Ref } from '../../template/atrium-console';
import { useLoad } from '../api/load';
import { pluginTabs } from '../app/extensions';
import { Loaded } from '../ui/loaded';

/** Loads the code that shows plugins, which most pages do without. */
export const useMounted = (isNeeded: boolean) => useLoad(isNeeded ? 'plugins/mounted' : undefined, () => import('./mounted'));

/** Shows the part of an object's page that a plugin has added; empty if no plugin has one of that id. */
export function PluginTab({ id, of: ref }: { id: string; of: Ref }) {
  const tab = pluginTabs(ref.group, ref.resource).find((one) => one.id === id);
  const load = useMounted(tab !== undefined);
  if (tab === undefined) return null;
  return <Loaded load={load}>{({ Mounted }) => <Mounted key={id} plugin={tab.plugin} mount={tab.mount} path="" of={ref} />}</Loaded>;
}
