import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Ref } from '../../template/atrium-console';
import { pluginTabs } from '../app/extensions';
import { Skeleton } from '../ui/state';
import type { Mounted } from './mounted';

/** Shows the part of an object's page that a plugin has added; empty if no plugin has one of that id. */
export function PluginTab({ id, of: ref }: { id: string; of: Ref }) {
  const Place = useSignal<ComponentType<Parameters<typeof Mounted>[0]> | undefined>(undefined);
  const tab = pluginTabs(ref.group, ref.resource).find((one) => one.id === id);
  useEffect(() => {
    void import('./mounted').then((module) => {
      Place.value = module.Mounted;
    });
  }, []);
  if (tab === undefined) return null;
  if (Place.value === undefined) return <Skeleton />;
  return <Place.value key={id} plugin={tab.plugin} mount={tab.mount} path="" of={ref} />;
}
