import { Puzzle } from 'lucide';
import type { Ref } from '../../template/atrium-console';
import type { KindPlace } from '../api/kinds';
import { refetch } from '../api/load';
import type { Metadata } from '../api/objects';
import { asProblem } from '../api/problem';
import { nameOf, type PluginAction, pluginActions } from '../app/extensions';
import { may, type Right, useRights } from '../app/rights';
import { guarded } from '../app/why';
import { t } from '../text/text';
import type { MenuItem } from '../ui/menu';
import { toast } from '../ui/toast';

interface OfferedAction {
  label: string;
  rights: readonly Right[];
  run(objects: Ref[]): void;
}

/**
 * Returns the actions of plugins for objects of a kind. Rights on the kind itself that name no namespace are asked for in that of the page,
 * so that an action is there for callers who have them in one namespace alone.
 */
export function usePluginActions(group: string, resource: string, namespace?: string): readonly OfferedAction[] {
  const here = (right: Right): Right =>
    namespace && right.group === group && right.resource === resource && right.namespace === undefined ? { ...right, namespace } : right;
  const actions = pluginActions(group, resource).map((action) => ({ action, rights: action.rights.map(here) }));
  useRights(actions.flatMap(({ rights }) => rights));
  return actions.map(({ action, rights }) => ({ label: action.label(), rights, run: (objects) => void runAction(action, objects) }));
}

/** Returns the actions as items of the menu of one object. An action that the caller may not perform shows the reason. */
export const itemsOf = (actions: readonly OfferedAction[], ref: Ref): MenuItem[] =>
  actions.map(({ label, rights, run }) => guarded(rights, { label, icon: Puzzle, act: () => run([ref]) }));

/** Buttons of the actions that the caller may perform on all selected objects. */
export const allowedOf = (actions: readonly OfferedAction[]): readonly OfferedAction[] =>
  actions.filter(({ rights }) => rights.every((right) => may(right) === true));

/** Returns the reference to an object that plugins receive. */
export const refTo = (
  { group, version, resource }: KindPlace,
  { name, namespace, uid }: Pick<Metadata, 'name' | 'namespace' | 'uid'>,
): Ref => ({ group, version, resource, name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) });

async function runAction(action: PluginAction, objects: Ref[]): Promise<void> {
  try {
    await action.run(objects);
  } catch (error) {
    toast('bad', t('plugins.failed', { name: nameOf(action.plugin), message: asProblem(error).message }));
  }
  await refetch('');
}
