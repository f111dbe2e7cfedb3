import type { Kind } from '../../../api/kinds';
import type { ClusterObject } from '../../../api/objects';
import { fetchSchemas } from '../../../api/openapi';
import { useGuard } from '../../../app/guard';
import type { CompletionOptions } from '../../../editors/completion';
import { t } from '../../../text/text';
import { Button } from '../../../ui/button';
import { Causes, Notice } from '../../../ui/state';
import { AsKubectl } from '../as-kubectl';
import { kubectl, kubectlFor } from '../kubectl';
import { Changes, Code } from './code';
import { mask } from './masks';
import { comparedText } from './object-text';
import { Several } from './several';
import { type Editing, type EditTarget, type Review, useEdit } from './use-edit';

interface EditProps extends EditTarget {
  /** Initial text of the editor. */
  text: string;
  onDone: (object: ClusterObject) => void;
  onCancel: () => void;
}

/** Loads schemas of versions that the cluster has: a version that is being typed does not exist yet. */
function completionFor(own: Kind, kinds: readonly Kind[] = [own]): Omit<CompletionOptions, 'refusals'> {
  return {
    type: { apiVersion: own.group ? `${own.group}/${own.version}` : own.version, kind: own.kind },
    async find({ apiVersion, kind }) {
      const [version = '', group = ''] = apiVersion.split('/').reverse();
      const isKnown = kinds.some((one) => one.group === group && one.version === version && one.kind === kind);
      return isKnown ? await fetchSchemas({ group, version, kind }).catch(() => undefined) : undefined;
    },
  };
}

/** Edits or creates an object. A dry run comes first, and its answer is shown as the changes; then the same request is sent for real. */
export function Edit({ text, onDone, onCancel, ...target }: EditProps) {
  const { kind, object, kinds } = target;
  const editing = useEdit(target, text, onDone);
  const { typed, review, several, refusals } = editing;
  useGuard(typed.value !== text);
  return (
    <div class="edit">
      <Conflict target={target} editing={editing} />
      {target.isMasked && <p class="muted">{t('cluster.maskedWhat')}</p>}
      {review.value && <Reviewed review={review.value} isNew={object === undefined} />}
      <div class={review.value || several.value ? 'out-of-sight' : 'edit-code'}>
        <Code
          label={t('cluster.edit', { kind: kind.kind })}
          text={text}
          completion={{ ...completionFor(kind, kinds), refusals }}
          onChange={(next) => {
            typed.value = next;
          }}
        />
      </div>
      {several.value && (
        <Several
          steps={several.value}
          onEdit={() => {
            several.value = undefined;
          }}
          onLeave={onCancel}
        />
      )}
      <div class={several.value ? 'out-of-sight' : 'buttons'}>
        <Steps target={target} editing={editing} />
        <Button kind="quiet" onClick={onCancel}>
          {t('action.cancel')}
        </Button>
        <AsKubectl command={object ? kubectlFor(['edit'], kind, object.metadata) : kubectl('create', '-f', 'FILE')} />
      </div>
    </div>
  );
}

interface PartProps {
  target: EditTarget;
  editing: Editing;
}

/** Shows the last refusal, and the changes of another client if they are the reason. */
function Conflict({ target, editing: { problem, other, review } }: PartProps) {
  const { object } = target;
  const changed = object && review.value === undefined ? other.value : undefined;
  return (
    <>
      {problem.value && (
        <Notice>
          {problem.value.status === 409 && object !== undefined ? t('cluster.conflict') : problem.value.message}
          <Causes of={problem.value} />
        </Notice>
      )}
      {changed && object && (
        <Changes
          key={changed.metadata.resourceVersion}
          label={t('cluster.conflictDiff')}
          before={comparedText(target, object)}
          after={comparedText(target, changed, object, () => `${mask} *`)}
        />
      )}
    </>
  );
}

const isSame = ({ before, after }: Review): boolean => before === after;

const Reviewed = ({ review, isNew }: { review: Review; isNew: boolean }) => (
  <>
    <p class="muted">{isSame(review) ? t('cluster.noChange') : t(isNew ? 'cluster.willCreate' : 'cluster.willChange')}</p>
    <Changes label={t('cluster.changes')} before={review.before} after={review.after} />
  </>
);

/** Buttons to review what is typed, and then to send it. */
function Steps({ target: { kind, object }, editing: { review, isBusy, compare, save } }: PartProps) {
  const shown = review.value;
  if (shown === undefined)
    return (
      <Button kind="main" isBusy={isBusy.value} onClick={compare}>
        {t('cluster.review')}
      </Button>
    );
  return (
    <>
      <Button kind="main" isBusy={isBusy.value} isDisabled={isSame(shown)} onClick={() => save(shown.sent)}>
        {object ? t('cluster.save', { kind: kind.kind }) : t('cluster.create', { kind: kind.kind })}
      </Button>
      <Button
        onClick={() => {
          review.value = undefined;
        }}
      >
        {t('cluster.editOn')}
      </Button>
    </>
  );
}
