import { typedText } from '@atrium/objects/typed-text.ts';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { each, type Outcome } from '../../../api/each';
import { apiPath, type Kind } from '../../../api/kinds';
import { type ClusterObject, deleteOptions, keyOf, write } from '../../../api/objects';
import { t } from '../../../text/text';
import { Dialog, LastLine } from '../../../ui/dialog';
import { Field, Form } from '../../../ui/form';
import { Failures, Names } from '../../../ui/outcomes';
import { toast } from '../../../ui/toast';
import { restartPatch } from '../actions/object-actions';
import { AsKubectl } from '../as-kubectl';
import { commandsFor } from '../kubectl';
import { followRollout } from '../sections/workload/follow-rollout';
import type { Listed } from './selected-changes';

interface ChangeProps {
  kind: Kind;
  rows: readonly Listed[];
  onClose: () => void;
  /** Called when at least one object may have changed. */
  onDone: () => void;
}

const mergePatch = 'application/merge-patch+json';

interface EachProps extends ChangeProps {
  title: string;
  /** Text of the button, if it differs from the title. */
  action?: string;
  isDanger?: boolean;
  isDisabled?: boolean;
  change: (row: Listed) => Promise<unknown>;
  /** Names the objects of one namespace in a command of kubectl. */
  command: string;
  /** Says how many objects were not changed. */
  failure: (count: number) => string;
  /** Says that all objects are changed. */
  success?: string;
  /** Unset: controllers still have to act. */
  isDone?: boolean;
  children?: ComponentChildren;
}

/** Shows the objects to be changed, changes each of them, and shows the failures afterwards. */
function ChangeEach({ rows, title, action = title, isDanger = false, isDisabled = false, change, children, ...rest }: EachProps) {
  const { command, failure, success, isDone, onClose, onDone } = rest;
  const failed = useSignal<readonly Outcome[]>([]);
  async function changeAll(signal: AbortSignal): Promise<void> {
    const byKey = new Map(rows.map((row) => [keyOf(row), row]));
    const changeOne = async (key: string) => void (await change(byKey.get(key) as Listed));
    const outcomes = await each([...byKey.keys()], changeOne, signal);
    failed.value = outcomes
      .filter(({ message }) => message !== undefined)
      .map(({ name, message = '' }) => ({ name: byKey.get(name)?.name ?? name, message }));
    if (failed.value.length > 0) return;
    if (success) toast(isDone ? 'ok' : 'info', success);
    onDone();
  }
  if (failed.value.length > 0)
    return (
      <Dialog title={title} onClose={onDone}>
        <Failures text={failure(failed.value.length)} failed={failed.value} />
        <LastLine onClose={onDone} isDone />
      </Dialog>
    );
  return (
    <Dialog title={title} onClose={onClose}>
      <Form action={action} kind={isDanger ? 'danger' : 'main'} onSubmit={changeAll} onCancel={onClose} isDisabled={isDisabled}>
        <Names of={rows.map((row) => ({ id: keyOf(row), name: row.name }))} />
        {children}
        <AsKubectl command={command} />
      </Form>
    </Dialog>
  );
}

const changeFailed = (count: number) => t('cluster.changeFailed', { count });
const named = ({ kind, rows }: ChangeProps) => ({ count: rows.length, kind: rows.length === 1 ? kind.kind : kind.title });

/** A merge patch of the same object: the API server refuses it for another object of that name. */
const patch = (kind: Kind, row: Listed, { metadata, ...rest }: { metadata?: object; spec?: object }, subresource?: string) =>
  write<Pick<ClusterObject, 'metadata'>>(apiPath(kind, { ...row, ...(subresource && { subresource }) }), {
    method: 'PATCH',
    body: { ...rest, metadata: { ...metadata, ...(row.uid && { uid: row.uid }) } },
    contentType: mergePatch,
  });

/** Each object is deleted only if it is still the same. */
function DeleteSelected(props: ChangeProps) {
  const { kind, rows } = props;
  return (
    <ChangeEach
      {...props}
      title={t('cluster.deleteMany', named(props))}
      isDanger
      change={(row) => write(apiPath(kind, row), { method: 'DELETE', body: deleteOptions(row.uid, 'Background') })}
      failure={(count) => t('cluster.deleteFailed', { count })}
      command={commandsFor(['delete'], kind, rows)}
    >
      <p>{t('cluster.deleteWhat')}</p>
    </ChangeEach>
  );
}

function RestartSelected(props: ChangeProps) {
  const { kind, rows } = props;
  return (
    <ChangeEach
      {...props}
      title={t('cluster.restartMany', named(props))}
      change={async (row) => followRollout(kind, await patch(kind, row, restartPatch()))}
      failure={changeFailed}
      success={t('cluster.restartedMany', named(props))}
      command={commandsFor(['rollout', 'restart'], kind, rows)}
    >
      <p>{t('act.restartHint')}</p>
    </ChangeEach>
  );
}

function ScaleSelected(props: ChangeProps) {
  const { kind, rows } = props;
  const wanted = useSignal('');
  const replicas = Number(wanted.value);
  const isNumber = /^\d{1,6}$/.test(wanted.value);
  return (
    <ChangeEach
      {...props}
      title={t('cluster.scaleMany', named(props))}
      action={isNumber ? t('cluster.scaleTo', { count: replicas }) : t('cluster.scale')}
      isDisabled={!isNumber}
      change={async (row) => followRollout(kind, await patch(kind, row, { spec: { replicas } }, 'scale'))}
      failure={changeFailed}
      success={t('cluster.scaledMany', { ...named(props), replicas })}
      command={commandsFor(['scale'], kind, rows, `--replicas=${isNumber ? replicas : 'N'}`)}
    >
      <Field label={t('cluster.replicas')} name="spec.replicas" type="number" value={wanted} />
    </ChangeEach>
  );
}

/**
 * Returns the labels of a merge patch, undefined for a text that `kubectl label` would not read: `key=value` sets a label, `key-` removes
 * it. The API server refuses invalid keys and values.
 */
function labelsOf(changes: readonly string[]): Record<string, string | null> | undefined {
  const parts = changes.map((change) => /^(?:([^=]+)-|([^=]+)=(.*))$/.exec(change));
  if (parts.length === 0 || parts.includes(null)) return undefined;
  return Object.fromEntries(parts.map((part) => (part?.[1] === undefined ? [part?.[2], part?.[3]] : [part[1], null])));
}

function LabelSelected(props: ChangeProps) {
  const { kind, rows } = props;
  const typed = useSignal('');
  const changes = typedText(typed.value)
    .split(/[\s,]+/)
    .filter(Boolean);
  const labels = labelsOf(changes);
  return (
    <ChangeEach
      {...props}
      title={t('cluster.labelMany', named(props))}
      action={t('cluster.label')}
      isDisabled={labels === undefined}
      change={(row) => patch(kind, row, { metadata: { labels } })}
      failure={changeFailed}
      success={t('cluster.labelledMany', named(props))}
      isDone
      command={commandsFor(['label'], kind, rows, '--overwrite', ...changes)}
    >
      <Field label={t('cluster.labelChanges')} name="metadata.labels" value={typed} hint={t('cluster.labelHint')} isCode />
    </ChangeEach>
  );
}

const parts = { restart: RestartSelected, scale: ScaleSelected, label: LabelSelected, delete: DeleteSelected } as const;

/** Dialog of a change of the selected objects. */
export function ChangeSelected({ of, ...props }: ChangeProps & { of: keyof typeof parts }) {
  const Part = parts[of];
  return <Part {...props} />;
}
