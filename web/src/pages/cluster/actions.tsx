import { useSignal } from '@preact/signals';
import { Ellipsis, RotateCw, Scaling, Trash2 } from 'lucide';
import { apiPath, type Kind, kindId, pageOf } from '../../api/kinds';
import { refetch, useLoad } from '../../api/load';
import { type ClusterObject, deleteOptions, getJson, write } from '../../api/objects';
import { asProblem } from '../../api/problem';
import { type Right, useRights } from '../../app/rights';
import { navigate } from '../../app/router';
import { guarded } from '../../app/why';
import { t } from '../../text/text';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { Loaded } from '../../ui/loaded';
import { Menu, type MenuItem } from '../../ui/menu';
import { toast } from '../../ui/toast';

/** What kubectl restarts: a new template makes new pods, a few at a time. */
const restarted = ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps'];

const mergePatch = 'application/merge-patch+json';

interface ActionsProps {
  kind: Kind;
  object: ClusterObject;
}

type Open = 'scale' | 'delete' | undefined;

/** What may be done with one object. What may not is greyed, and says why. */
export function ObjectActions({ kind, object }: ActionsProps) {
  const open = useSignal<Open>(undefined);
  const { name, namespace } = object.metadata;
  const right = (verb: string, subresource?: string): Right => ({
    ...{ verb, group: kind.group, resource: kind.resource, name },
    ...(subresource && { subresource }),
    ...(namespace && { namespace }),
  });
  const rights = { scale: right('patch', 'scale'), patch: right('patch'), remove: right('delete') };
  const [isScaled, isRestarted] = [kind.subresources.includes('scale'), restarted.includes(kindId(kind))];
  useRights([rights.remove, ...(isScaled ? [rights.scale] : []), ...(isRestarted ? [rights.patch] : [])]);
  const close = () => {
    open.value = undefined;
  };
  const show = (what: Open) => () => {
    open.value = what;
  };
  async function restart(): Promise<void> {
    const annotations = { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() };
    const body = { spec: { template: { metadata: { annotations } } } };
    try {
      await write(apiPath(kind, object.metadata), { method: 'PATCH', body, contentType: mergePatch });
      toast('ok', t('cluster.restarted', { kind: kind.kind, name }));
      await refetch('object/');
    } catch (error) {
      toast('bad', asProblem(error).message);
    }
  }
  const items: MenuItem[] = [
    ...(isScaled ? [guarded([rights.scale], { label: t('cluster.scale'), icon: Scaling, act: show('scale') })] : []),
    ...(isRestarted ? [guarded([rights.patch], { label: t('cluster.restart'), icon: RotateCw, act: () => void restart() })] : []),
    ...(kind.verbs.includes('delete')
      ? [
          guarded([rights.remove], {
            ...{ label: t('cluster.delete'), icon: Trash2, isDanger: true, act: show('delete') },
            isApart: isScaled || isRestarted,
          }),
        ]
      : []),
  ];
  if (items.length === 0) return null;
  return (
    <div class="buttons">
      <Menu label={t('action.more')} icon={Ellipsis} items={items} kind="plain" />
      {open.value === 'scale' && <Scale kind={kind} object={object} onClose={close} />}
      {open.value === 'delete' && <DeleteObject kind={kind} object={object} onClose={close} />}
    </div>
  );
}

interface DialogProps extends ActionsProps {
  onClose: () => void;
}

interface ScaleObject {
  spec?: { replicas?: number };
}

function Scale({ kind, object, onClose }: DialogProps) {
  const { name, namespace } = object.metadata;
  const path = apiPath(kind, { name, namespace, subresource: 'scale' });
  const load = useLoad(`scale/${path}`, (signal) => getJson<ScaleObject>(path, signal));
  return (
    <Dialog title={t('cluster.scaleOf', { kind: kind.kind, name })} onClose={onClose}>
      <Loaded load={load}>{({ spec }) => <ScaleForm path={path} now={spec?.replicas ?? 0} name={name} onClose={onClose} />}</Loaded>
    </Dialog>
  );
}

function ScaleForm({ path, now, name, onClose }: { path: string; now: number; name: string; onClose: () => void }) {
  const wanted = useSignal(String(now));
  const replicas = Number(wanted.value);
  async function scale(): Promise<void> {
    await write(path, { method: 'PATCH', body: { spec: { replicas } }, contentType: mergePatch });
    toast('ok', t('cluster.scaled', { name, count: replicas }));
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
    </Form>
  );
}

const policies = ['Background', 'Foreground', 'Orphan'] as const;

function DeleteObject({ kind, object, onClose }: DialogProps) {
  const typed = useSignal('');
  const policy = useSignal<string>('Background');
  const { name, namespace, uid } = object.metadata;
  async function remove(): Promise<void> {
    await write(apiPath(kind, { name, namespace }), { method: 'DELETE', body: deleteOptions(uid, policy.value) });
    toast('ok', t('cluster.deleted', { kind: kind.kind, name }));
    navigate(pageOf(kind, { namespace }));
  }
  const title = t('cluster.deleteOf', { kind: kind.kind, name });
  return (
    <Dialog title={title} onClose={onClose}>
      <Form action={title} kind="danger" onSubmit={remove} onCancel={onClose} isDisabled={typed.value.trim() !== name}>
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
      </Form>
    </Dialog>
  );
}
