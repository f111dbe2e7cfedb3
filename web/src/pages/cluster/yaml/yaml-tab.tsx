import { useSignal } from '@preact/signals';
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
import { bare, Edit } from './edit';
import { masked } from './masks';

interface YamlTabProps {
  kind: Kind;
  object: ClusterObject;
  updateRight: Right;
  onSaved: () => Promise<void>;
}

/** Shows the object as it is stored. Values of a Secret are shown on request. */
export function YamlTab({ kind, object, updateRight, onSaved }: YamlTabProps) {
  const heavy = useLoad('editors/editor', () => import('../../../editors/editor'));
  const [isWhole, isOpen, editing] = [useSignal(false), useSignal(false), useSignal<ClusterObject | undefined>(undefined)];
  const isSecret = kind.group === '' && kind.resource === 'secrets';
  const isMasked = isSecret && !isOpen.value;
  const yaml = heavy.data.value;
  if (yaml === undefined) return <Skeleton rows={12} />;
  const { name, namespace } = object.metadata;
  // The object is that of the time when the editor was opened: a later change by another client is a conflict.
  if (editing.value)
    return (
      <Edit
        kind={kind}
        object={editing.value}
        text={yaml.stringify(bare(isMasked ? masked(editing.value) : editing.value))}
        isMasked={isMasked}
        namespace={namespace}
        yaml={yaml}
        onCancel={() => {
          editing.value = undefined;
        }}
        onDone={() => {
          editing.value = undefined;
          toast('ok', t('cluster.saved', { kind: kind.kind, name }));
          void onSaved();
        }}
      />
    );
  const shown = isWhole.value ? object : bare(object);
  const text = yaml.stringify(isMasked ? masked(shown) : shown);
  const isRefused = may(updateRight) === false;
  return (
    <>
      <div class="bar">
        {kind.verbs.includes('update') && (
          <AskBeside right={isRefused ? updateRight : undefined}>
            <Button
              icon={Pencil}
              isRefused={isRefused}
              onClick={() => {
                if (isRefused) askWhy(updateRight);
                else editing.value = object;
              }}
            >
              {t('user.edit')}
            </Button>
          </AskBeside>
        )}
        {isSecret && (
          <Button
            icon={isOpen.value ? EyeOff : Eye}
            onClick={() => {
              isOpen.value = !isOpen.value;
            }}
          >
            {t(isOpen.value ? 'cluster.mask' : 'cluster.unmask')}
          </Button>
        )}
        <CheckField
          label={t('cluster.managedFields')}
          isChecked={isWhole.value}
          onChange={(isChecked) => {
            isWhole.value = isChecked;
          }}
        />
      </div>
      <Code label={t('cluster.yamlOf', { kind: kind.kind, name })} text={text} />
    </>
  );
}
