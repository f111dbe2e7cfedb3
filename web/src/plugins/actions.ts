import type { Ref } from '../../template/atrium-console';
import { refetch } from '../api/load';
import { asProblem } from '../api/problem';
import { nameOf, type PluginAction, pluginActions } from '../app/extensions';
import { may, useRights } from '../app/rights';
import { t } from '../text/text';
import { toast } from '../ui/toast';

interface OfferedAction {
  label: string;
  run(objects: Ref[]): void;
}

/** Returns the actions of plugins for objects of a kind, as far as the caller's permissions allow them. */
export function usePluginActions(group: string, resource: string): readonly OfferedAction[] {
  const actions = pluginActions(group, resource);
  useRights(actions.flatMap(({ rights }) => rights));
  return actions
    .filter(({ rights }) => rights.every((right) => may(right) === true))
    .map((action) => ({ label: action.label(), run: (objects) => void runAction(action, objects) }));
}

async function runAction(action: PluginAction, objects: Ref[]): Promise<void> {
  try {
    await action.run(objects);
  } catch (error) {
    toast('bad', t('plugins.failed', { name: nameOf(action.plugin), message: asProblem(error).message }));
  }
  await refetch('');
}
