import { useSignal } from '@preact/signals';
import { Ban, CircleCheck, Waves } from 'lucide';
import { refetch } from '../../../../api/load';
import type { ClusterObject } from '../../../../api/objects';
import { asProblem } from '../../../../api/problem';
import { AskBeside } from '../../../../app/ask';
import { may, type Right, useRights } from '../../../../app/rights';
import { askWhy } from '../../../../app/why';
import { t } from '../../../../text/text';
import { Button } from '../../../../ui/button';
import { toast } from '../../../../ui/toast';
import { AsKubectl } from '../../as-kubectl';
import { kubectl } from '../../kubectl';
import { cordon } from './cordon';
import { DrainDialog } from './drain-dialog';
import { podsRight } from './node-pods';

export function NodeActions({ object }: { object: ClusterObject }) {
  const { name } = object.metadata;
  const [isDraining, isBusy] = [useSignal(false), useSignal(false)];
  const patch: Right = { verb: 'patch', group: '', resource: 'nodes', name };
  const evict: Right = { ...podsRight('create'), subresource: 'eviction' };
  const drains = [patch, podsRight('list'), evict];
  useRights([...drains, podsRight('watch')]);
  const missing = (rights: readonly Right[]) => rights.find((right) => may(right) === false);
  const isCordoned = object.spec?.unschedulable === true;
  async function change(): Promise<void> {
    isBusy.value = true;
    try {
      await cordon(name, !isCordoned);
      await refetch('object/');
      toast('ok', t(isCordoned ? 'node.uncordonDone' : 'node.cordonDone', { name }));
    } catch (error) {
      toast('bad', asProblem(error).message);
    } finally {
      isBusy.value = false;
    }
  }
  const guardedBy = (rights: readonly Right[], act: () => void) => {
    const wanted = missing(rights);
    return { isRefused: wanted !== undefined, onClick: () => (wanted ? askWhy(wanted) : act()) };
  };
  return (
    <div class="bar">
      <AskBeside right={missing([patch])}>
        <Button icon={isCordoned ? CircleCheck : Ban} isBusy={isBusy.value} {...guardedBy([patch], () => void change())}>
          {t(isCordoned ? 'node.uncordon' : 'node.cordon')}
        </Button>
      </AskBeside>
      <AskBeside right={missing(drains)}>
        <Button
          icon={Waves}
          {...guardedBy(drains, () => {
            isDraining.value = true;
          })}
        >
          {t('node.drain')}
        </Button>
      </AskBeside>
      <AsKubectl command={kubectl(isCordoned ? 'uncordon' : 'cordon', name)} />
      {isDraining.value && (
        <DrainDialog
          node={name}
          onClose={() => {
            isDraining.value = false;
          }}
        />
      )}
    </div>
  );
}
