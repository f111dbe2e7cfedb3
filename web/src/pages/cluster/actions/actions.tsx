import { typedText } from '@atrium/objects/typed-text.ts';
import { useSignal } from '@preact/signals';
import { Bug, Scaling, Trash2 } from 'lucide';
import { apiPath, type Kind, kindId, pageOf } from '../../../api/kinds';
import { refetch, useLoad } from '../../../api/load';
import { type ClusterObject, deleteOptions, getJson, type Metadata, write } from '../../../api/objects';
import { type Right, useRights } from '../../../app/rights';
import { navigate } from '../../../app/router';
import { guarded } from '../../../app/why';
import { itemsOf, refTo, usePluginActions } from '../../../plugins/actions';
import { t } from '../../../text/text';
import { ActionBar } from '../../../ui/action-bar';
import { Dialog } from '../../../ui/dialog';
import { Field, Form } from '../../../ui/form';
import { Loaded } from '../../../ui/loaded';
import type { MenuItem } from '../../../ui/menu';
import { toast } from '../../../ui/toast';
import { AsKubectl } from '../as-kubectl';
import { kubectlFor } from '../kubectl';
import { followRollout } from '../sections/workload/follow-rollout';
import { Autoscaled } from '../sections/workload/workload-bounds';
import { DebugDialog, debugRights } from '../terminal/debug-dialog';
import { actionsOf, type ObjectAction } from './object-actions';

const mergePatch = 'application/merge-patch+json';

interface ActionsProps {
  kind: Kind;
  object: ClusterObject;
}

interface WithKinds {
  kinds: readonly Kind[];
}

type Open = 'scale' | 'delete' | 'debug' | ObjectAction | undefined;

/** The actions on an object. An action that the caller may not perform is greyed in the menu, and shows the reason. */
export function ObjectActions({ kind, kinds, object }: ActionsProps & WithKinds) {
  const open = useSignal<Open>(undefined);
  const { name, namespace } = object.metadata;
  const right = (verb: string, subresource?: string): Right => ({
    ...{ verb, group: kind.group, resource: kind.resource, name },
    ...(subresource && { subresource }),
    ...(namespace && { namespace }),
  });
  const rights = { scale: right('patch', 'scale'), remove: right('delete') };
  const isScaled = kind.subresources.includes('scale');
  const actions = actionsOf(kind, object);
  const debugs = kindId(kind) === 'pods' && kind.subresources.includes('ephemeralcontainers') ? debugRights(object.metadata) : [];
  const added = usePluginActions(kind.group, kind.resource, namespace);
  useRights([rights.remove, ...(isScaled ? [rights.scale] : []), ...actions.map((action) => action.right), ...debugs]);
  const close = () => {
    open.value = undefined;
  };
  const show = (what: Open) => () => {
    open.value = what;
  };
  const items: MenuItem[] = [
    ...(isScaled ? [guarded([rights.scale], { label: t('cluster.scale'), icon: Scaling, isAtHand: true, act: show('scale') })] : []),
    ...actions.map((action) =>
      guarded([action.right], { label: t(action.label), icon: action.icon, isAtHand: action.isAtHand === true, act: show(action) }),
    ),
    ...(debugs.length > 0 ? [guarded(debugs, { label: t('debug.debug'), icon: Bug, act: show('debug') })] : []),
    ...itemsOf(added, refTo(kind, object.metadata)),
    ...(kind.verbs.includes('delete')
      ? [
          guarded([rights.remove], {
            ...{ label: t('cluster.delete'), icon: Trash2, isDanger: true, act: show('delete') },
            isApart: isScaled || actions.length + debugs.length + added.length > 0,
          }),
        ]
      : []),
  ];
  if (items.length === 0) return null;
  return (
    <div class="buttons">
      <ActionBar items={items} />
      {open.value === 'scale' && <Scale kind={kind} kinds={kinds} object={object} onClose={close} />}
      {open.value === 'delete' && <DeleteObject kind={kind} object={object} onClose={close} />}
      {open.value === 'debug' && <DebugDialog kind={kind} pod={object} onClose={close} />}
      {typeof open.value === 'object' && <Act action={open.value} kind={kind} name={name} onClose={close} />}
    </div>
  );
}

/**
 * Asks for confirmation, tries a dry run, and then acts. The success notice has a tick only for an action that needs no controller, whose
 * progress the page shows.
 */
function Act({ action, kind, name, onClose }: { action: ObjectAction; kind: Kind; name: string; onClose: () => void }) {
  const title = `${t(action.label)}: ${name}`;
  async function act(signal: AbortSignal): Promise<void> {
    await action.send('?dryRun=All');
    signal.throwIfAborted();
    const answer = await action.send('');
    if (action.rollsOut) followRollout(kind, answer);
    toast(action.isDone ? 'ok' : 'info', action.message);
    onClose();
    await refetch('object/');
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <Form action={t(action.label)} onSubmit={act} onCancel={onClose}>
        <p class="measure">{t(action.hint)}</p>
        <AsKubectl command={action.command} />
      </Form>
    </Dialog>
  );
}

interface DialogProps extends ActionsProps {
  onClose: () => void;
}

interface ScaleObject {
  spec?: { replicas?: number };
}

function Scale({ kind, kinds, object, onClose }: DialogProps & WithKinds) {
  const { name, namespace } = object.metadata;
  const path = apiPath(kind, { name, namespace, subresource: 'scale' });
  const load = useLoad(`scale/${path}`, (signal) => getJson<ScaleObject>(path, signal));
  return (
    <Dialog title={t('cluster.scaleOf', { kind: kind.kind, name })} onClose={onClose}>
      <Loaded load={load}>{({ spec }) => <ScaleForm {...{ kind, kinds, object, path, onClose }} now={spec?.replicas ?? 0} />}</Loaded>
    </Dialog>
  );
}

function ScaleForm({ kind, kinds, object, path, now, onClose }: DialogProps & WithKinds & { path: string; now: number }) {
  const { name } = object.metadata;
  const wanted = useSignal(String(now));
  const replicas = Number(wanted.value);
  async function scale(): Promise<void> {
    const answer = await write<Pick<ClusterObject, 'metadata'>>(path, {
      method: 'PATCH',
      body: { spec: { replicas } },
      contentType: mergePatch,
    });
    followRollout(kind, answer);
    toast('info', t('cluster.scaled', { name, count: replicas }));
    onClose();
    await refetch('object/', 'scale/');
  }
  const isNumber = /^\d{1,6}$/.test(wanted.value);
  return (
    <Form
      action={isNumber ? t('cluster.scaleTo', { count: replicas }) : t('cluster.scale')}
      onSubmit={scale}
      onCancel={onClose}
      isDisabled={!isNumber || replicas === now}
    >
      <Field
        label={t('cluster.replicas')}
        name="spec.replicas"
        type="number"
        value={wanted}
        hint={t('cluster.replicasNow', { count: now })}
      />
      <Autoscaled kinds={kinds} object={object} />
      {isNumber && <AsKubectl command={kubectlFor(['scale'], kind, object.metadata, `--replicas=${replicas}`)} />}
    </Form>
  );
}

/** Status, or the object. */
interface DeleteAnswer {
  metadata?: Partial<Metadata>;
}

/** Reports whether the object stays for a grace period, finalizers or the content of a namespace. A pod without grace is gone. */
const isStillThere = ({ metadata: { deletionTimestamp, deletionGracePeriodSeconds, finalizers = [] } = {} }: DeleteAnswer): boolean =>
  deletionTimestamp !== undefined && (deletionGracePeriodSeconds !== 0 || finalizers.length > 0);

const policies = ['Background', 'Foreground', 'Orphan'] as const;

function DeleteObject({ kind, object, onClose }: DialogProps) {
  const typed = useSignal('');
  const policy = useSignal<string>('Background');
  const { name, namespace, uid } = object.metadata;
  async function remove(): Promise<void> {
    const answer = await write<DeleteAnswer>(apiPath(kind, { name, namespace }), {
      method: 'DELETE',
      body: deleteOptions(uid, policy.value),
    });
    if (isStillThere(answer)) toast('info', t('cluster.beingDeleted', { kind: kind.kind, name }));
    else toast('ok', t('cluster.deleted', { kind: kind.kind, name }));
    navigate(pageOf(kind, { namespace }));
  }
  const title = t('cluster.deleteOf', { kind: kind.kind, name });
  return (
    <Dialog title={title} onClose={onClose}>
      <Form action={title} kind="danger" onSubmit={remove} onCancel={onClose} isDisabled={typedText(typed.value) !== name}>
        <Field
          label={t('cluster.propagation')}
          name="propagationPolicy"
          value={policy}
          hint={t(`cluster.hint${policy.value as (typeof policies)[number]}`)}
        >
          {policies.map((one) => (
            <option key={one} value={one}>
              {t(`cluster.policy${one}`)}
            </option>
          ))}
        </Field>
        <Field label={t('cluster.deleteType', { name })} name="name" value={typed} isCode />
        <AsKubectl command={kubectlFor(['delete'], kind, object.metadata, `--cascade=${policy.value.toLowerCase()}`)} />
      </Form>
    </Dialog>
  );
}
