import { type Signal, useSignal } from '@preact/signals';
import { Eye, EyeOff, Pencil } from 'lucide';
import type { Kind } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import type { ClusterObject } from '../../../api/objects';
import { AskBeside } from '../../../app/ask';
import { may, type Right } from '../../../app/rights';
import { askWhy } from '../../../app/why';
import { t } from '../../../text/text';
import { Button } from '../../../ui/button';
import { CheckField } from '../../../ui/form';
import { Skeleton } from '../../../ui/state';
import { toast } from '../../../ui/toast';
import { Code } from './code';
import { Edit } from './edit';
import { masked } from './masks';
import { bare } from './object-text';

interface YamlTabProps {
  kind: Kind;
  object: ClusterObject;
  updateRight: Right;
  onSaved: () => Promise<void>;
}

/** Shows the object as it is stored. Values of a Secret are shown on request. */
export function YamlTab({ kind, object, updateRight, onSaved }: YamlTabProps) {
  const yaml = useLoad('editors/editor', () => import('../../../editors/editor')).data.value;
  const [isWhole, isOpen, editing] = [useSignal(false), useSignal(false), useSignal<ClusterObject | undefined>(undefined)];
  const isSecret = kind.group === '' && kind.resource === 'secrets';
  const isMasked = isSecret && !isOpen.value;
  if (yaml === undefined) return <Skeleton rows={12} />;
  const { name, namespace } = object.metadata;
  const close = () => {
    editing.value = undefined;
  };
  // The object is that of the time when the editor was opened: a later change by another client is a conflict.
  if (editing.value)
    return (
      <Edit
        {...{ kind, object: editing.value, namespace, isMasked, yaml }}
        text={yaml.stringify(bare(isMasked ? masked(editing.value) : editing.value))}
        onCancel={close}
        onDone={() => {
          close();
          toast('ok', t('cluster.saved', { kind: kind.kind, name }));
          void onSaved();
        }}
      />
    );
  const shown = isWhole.value ? object : bare(object);
  return (
    <>
      <div class="bar">
        {kind.verbs.includes('update') && (
          <EditButton
            right={updateRight}
            onEdit={() => {
              editing.value = object;
            }}
          />
        )}
        {isSecret && <MaskButton isOpen={isOpen} />}
        <CheckField
          label={t('cluster.managedFields')}
          isChecked={isWhole.value}
          onChange={(isChecked) => {
            isWhole.value = isChecked;
          }}
        />
      </div>
      <Code label={t('cluster.yamlOf', { kind: kind.kind, name })} text={yaml.stringify(isMasked ? masked(shown) : shown)} />
    </>
  );
}

function EditButton({ right, onEdit }: { right: Right; onEdit: () => void }) {
  const isRefused = may(right) === false;
  return (
    <AskBeside right={isRefused ? right : undefined}>
      <Button icon={Pencil} isRefused={isRefused} onClick={() => (isRefused ? askWhy(right) : onEdit())}>
        {t('user.edit')}
      </Button>
    </AskBeside>
  );
}

const MaskButton = ({ isOpen }: { isOpen: Signal<boolean> }) => (
  <Button
    icon={isOpen.value ? EyeOff : Eye}
    onClick={() => {
      isOpen.value = !isOpen.value;
    }}
  >
    {t(isOpen.value ? 'cluster.mask' : 'cluster.unmask')}
  </Button>
);
