import { useSignal } from '@preact/signals';
import { CircleAlert, CircleCheck, Clock } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { apiPath } from '../../../../api/kinds';
import { refetch } from '../../../../api/load';
import { getJson, write } from '../../../../api/objects';
import { type Key, t } from '../../../../text/text';
import { Button } from '../../../../ui/button';
import { Copy } from '../../../../ui/copy';
import { Dialog } from '../../../../ui/dialog';
import { CheckField, Form } from '../../../../ui/form';
import { Icon } from '../../../../ui/icon';
import { Loaded } from '../../../../ui/loaded';
import { PlainTable } from '../../../../ui/plain-table';
import { toast } from '../../../../ui/toast';
import type { Pod } from '../pod/pod-shape';
import { cordon } from './cordon';
import { Drain, type Progress } from './drain';
import { type DrainedPod, drainCommand, drainPlan } from './drain-plan';
import { listNodePods, type NodePods, useNodePods } from './node-pods';

const podKind = {
  ...{ group: '', version: 'v1', resource: 'pods', kind: 'Pod', title: 'Pods', isNamespaced: true, isPreferred: true },
  ...{ verbs: [], subresources: [], shortNames: [] },
};

const timeoutMs = 30_000;
const bounded = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);

const calls = {
  async evict({ metadata: { name, namespace, uid } }: Pod, signal: AbortSignal): Promise<void> {
    const deleteOptions = { preconditions: { uid } };
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace }, deleteOptions };
    await write(apiPath(podKind, { name, namespace, subresource: 'eviction' }), { method: 'POST', body, signal: bounded(signal) });
  },
  async isGone({ metadata: { name, namespace, uid } }: Pod, signal: AbortSignal): Promise<boolean> {
    // A list answers 200 where a GET of a pod that is gone would leave a 404 in the browser's console.
    const query = new URLSearchParams({ fieldSelector: `metadata.name=${name}` });
    const { items } = await getJson<{ items: readonly Pod[] | null }>(`${apiPath(podKind, { namespace })}?${query}`, bounded(signal));
    return (items ?? []).every(({ metadata }) => metadata.uid !== uid);
  },
  pause: (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener(
        'abort',
        () => {
          clearTimeout(timer);
          reject(signal.reason);
        },
        { once: true },
      );
    }),
};

const planOf = ({ pods }: NodePods) => drainPlan(pods);

interface DrainProps {
  node: string;
  onClose: () => void;
}

/** Shows the pods that leave a node, and evicts them once the user agrees. Closing it ends the drain. */
export function DrainDialog({ node, onClose }: DrainProps) {
  const { load } = useNodePods(podKind, node);
  return (
    <Dialog title={t('node.drainOf', { name: node })} onClose={onClose}>
      <Loaded load={load}>{(pods) => <Drainage node={node} pods={pods} onClose={onClose} />}</Loaded>
    </Dialog>
  );
}

interface DrainageProps extends DrainProps {
  pods: NodePods;
}

function Drainage({ node, pods, onClose }: DrainageProps) {
  const running = useSignal<Drain | undefined>(undefined);
  const cordoned = useSignal<NodePods | undefined>(undefined);
  const listed = cordoned.value ?? pods;
  const plan = useMemo(() => planOf(listed), [listed]);
  useEffect(() => () => running.value?.cancel(), []);
  async function start(signal: AbortSignal): Promise<void> {
    try {
      await cordon(node, true);
      signal.throwIfAborted();
      await drain(await listNodePods(podKind, node, bounded(signal)), signal);
    } finally {
      // The node is cordoned even if no pod is evicted.
      await refetch('object/', 'nodePods/');
    }
  }
  /** @param now the pods after the cordon: no other arrives any more, except those of DaemonSets */
  async function drain(now: NodePods, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    cordoned.value = now;
    const agreed = new Set(plan.map(({ pod }) => pod.metadata.uid));
    const after = planOf(now);
    const hasNewLosses = after.some(({ pod, loses }) => loses.length > 0 && !agreed.has(pod.metadata.uid));
    // A pod has arrived since. The form shows what it loses, and the user agrees first.
    if (now.isPartial || hasNewLosses) return;
    const begun = new Drain(
      after.filter(({ stays }) => stays === undefined).map(({ pod }) => pod),
      calls,
    );
    running.value = begun;
    if (await begun.run()) toast('ok', t('node.drained', { name: node }));
  }
  const table = <DrainTable plan={plan} progress={running.value?.progress.value} />;
  if (running.value === undefined)
    return (
      <DrainForm node={node} plan={plan} isPartial={listed.isPartial} onSubmit={start} onCancel={onClose}>
        {table}
      </DrainForm>
    );
  const isRunning = running.value.isRunning.value;
  return (
    <>
      {table}
      <div class="buttons">
        <Button kind={isRunning ? 'danger' : 'main'} onClick={isRunning ? () => running.value?.cancel() : onClose}>
          {t(isRunning ? 'node.drainStop' : 'action.close')}
        </Button>
      </div>
    </>
  );
}

interface DrainFormProps {
  node: string;
  plan: readonly DrainedPod[];
  isPartial: boolean;
  onSubmit: (signal: AbortSignal) => Promise<void>;
  onCancel: () => void;
  children: ComponentChildren;
}

function DrainForm({ node, plan, isPartial, onSubmit, onCancel, children }: DrainFormProps) {
  /** Labels of the losses, with the names of the pods. */
  const agreed = useSignal<ReadonlySet<string>>(new Set());
  const going = plan.filter(({ stays }) => stays === undefined).length;
  const losses = (['emptyDir', 'noController'] as const)
    .map((loss) => ({ loss, pods: plan.filter(({ loses }) => loses.includes(loss)).map(({ pod }) => pod.metadata.name) }))
    .filter(({ pods }) => pods.length > 0)
    .map(({ loss, pods }) => t(`node.${loss}Lost`, { pods: pods.join(', ') }));
  return (
    <Form
      action={t('node.drainAction', { count: going })}
      kind="danger"
      onSubmit={onSubmit}
      onCancel={onCancel}
      isDisabled={isPartial || losses.some((loss) => !agreed.value.has(loss))}
    >
      <p class="muted">{isPartial ? t('node.drainMany') : t('node.drainWhat')}</p>
      {children}
      {losses.map((label) => (
        <CheckField
          key={label}
          label={label}
          isChecked={agreed.value.has(label)}
          onChange={(isChecked) => {
            agreed.value = new Set([...agreed.value].filter((one) => one !== label).concat(isChecked ? [label] : []));
          }}
        />
      ))}
      <Copy label="kubectl" text={drainCommand(node, plan)} />
    </Form>
  );
}

const words = {
  ...{ waiting: 'node.waiting', evicting: 'node.evicting', blocked: 'node.blocked', leaving: 'node.leaving' },
  ...{ gone: 'node.gone', failed: 'node.failed', cancelled: 'node.cancelled' },
} as const satisfies Record<Progress['state'], Key>;

const signs = { waiting: '', evicting: 'warn', blocked: 'warn', leaving: 'warn', gone: 'ok', failed: 'bad', cancelled: '' } as const;
const icons = { warn: Clock, ok: CircleCheck, bad: CircleAlert } as const;

function ProgressOf({ state, message }: Progress) {
  const sign = signs[state];
  return (
    <span class={`phase ${sign}`}>
      {sign !== '' && <Icon of={icons[sign]} />}
      <span>
        {t(words[state])}
        {message && <span class="muted"> {message}</span>}
      </span>
    </span>
  );
}

function DrainTable({ plan, progress }: { plan: readonly DrainedPod[]; progress: ReadonlyMap<string, Progress> | undefined }) {
  const fate = ({ pod, stays, loses }: DrainedPod) => {
    const now = progress?.get(pod.metadata.uid ?? '');
    if (now !== undefined) return <ProgressOf {...now} />;
    if (stays !== undefined) return t(`node.${stays}Stays`);
    return [t('node.goes'), ...loses.map((loss) => t(`node.${loss}`))].join(' · ');
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs keyboard access (WCAG 2.1.1)
    <section class="drain-table" tabIndex={0} aria-label={t('node.pods')}>
      <PlainTable
        label={t('node.pods')}
        rows={plan}
        idOf={({ pod: { metadata } }) => metadata.uid ?? metadata.name}
        columns={[
          { title: t('node.pod'), cell: ({ pod }) => pod.metadata.name },
          { title: t('cluster.namespace'), cell: ({ pod }) => pod.metadata.namespace },
          { title: t('cluster.state'), cell: fate },
        ]}
      />
    </section>
  );
}
