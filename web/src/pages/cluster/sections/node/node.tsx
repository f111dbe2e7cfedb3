import { objectState } from '@atrium/objects/object-state.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { pageOf } from '../../../../api/kinds';
import type { ClusterObject } from '../../../../api/objects';
import { Guarded } from '../../../../app/guarded';
import { useRights } from '../../../../app/rights';
import { href } from '../../../../app/router';
import { t } from '../../../../text/text';
import { Age } from '../../../../ui/age';
import { Chips } from '../../../../ui/chips';
import { Facts } from '../../../../ui/facts';
import { Loaded } from '../../../../ui/loaded';
import { PlainTable } from '../../../../ui/plain-table';
import { Empty, Notice } from '../../../../ui/state';
import { StateView } from '../../cells';
import { quantity } from '../../quantity';
import { useUsages } from '../../usage';
import { isMeasured, usageKey } from '../../usage-amounts';
import { problems } from '../conditions/condition-notices';
import { ObjectLink } from '../object-link';
import { requestedBy } from '../pod/requests';
import type { Section, SectionProps } from '../section';
import { UsageBar } from '../usage-bar';
import { nodeUsage } from '../usage-history/object-usage';
import { NodeActions } from './node-actions';
import { podsRight, useNodePods } from './node-pods';

type Texts = Readonly<Record<string, string>>;

interface Taint {
  key: string;
  value?: string;
  effect: string;
}

interface NodeSpec {
  taints?: readonly Taint[];
  unschedulable?: boolean;
  podCIDRs?: readonly string[];
}

interface NodeStatus {
  capacity?: Texts;
  allocatable?: Texts;
  addresses?: readonly { type: string; address: string }[];
  nodeInfo?: Texts;
}

function NodeFacts({ object }: SectionProps) {
  const { taints = [], unschedulable, podCIDRs = [] } = (object.spec ?? {}) as NodeSpec;
  const { addresses = [], nodeInfo = {} } = (object.status ?? {}) as NodeStatus;
  return (
    <>
      <NodeActions object={object} />
      <Facts
        of={[
          [t('node.scheduling'), t(unschedulable ? 'node.cordoned' : 'node.open')],
          [t('node.addresses'), addresses.map(({ type, address }) => `${type} ${address}`).join(', ')],
          [t('node.taints'), taints.length > 0 && <Chips key="taints" of={taints.map(taintText)} />],
          ['Kubelet', nodeInfo.kubeletVersion],
          [t('node.runtime'), nodeInfo.containerRuntimeVersion],
          [t('node.system'), [nodeInfo.osImage, nodeInfo.kernelVersion, nodeInfo.architecture].filter(Boolean).join(' · ')],
          ['Pod CIDR', podCIDRs.join(', ')],
        ]}
      />
    </>
  );
}

const taintText = ({ key, value, effect }: Taint) => `${key}${value ? `=${value}` : ''}:${effect}`;

const podsOf = ({ kinds }: SectionProps) => kinds.find(({ group, resource }) => group === '' && resource === 'pods');

function NodeResources(props: SectionProps) {
  useRights([podsRight('list'), podsRight('watch')]);
  const { name } = props.object.metadata;
  const { capacity = {}, allocatable = {} } = (props.object.status ?? {}) as NodeStatus;
  const usages = useUsages({ kinds: props.kinds, of: props.kind, name });
  const usage = usages?.get(usageKey(props.object.metadata));
  const { load } = useNodePods(podsOf(props), name);
  const pods = load.data.value?.isPartial ? undefined : load.data.value?.pods;
  const requested = pods && requestedBy(pods);
  const print = (resource: string, text = '') => quantity(resource, quantityOf(text) ?? 0);
  const bar = (resource: string, value: number | undefined) =>
    value === undefined ? (
      <span class="muted">{t('node.unknown')}</span>
    ) : (
      <UsageBar label={quantity(resource, value)} value={value} of={quantityOf(allocatable[resource] ?? capacity[resource] ?? '') ?? 0} />
    );
  const rows = Object.keys(capacity).filter((resource) => quantityOf(capacity[resource] ?? '') !== 0);
  return (
    <PlainTable
      label={t('node.resources')}
      rows={rows}
      idOf={(resource) => resource}
      columns={[
        { title: t('node.resource'), cell: (resource) => resource },
        { title: t('node.capacity'), cell: (resource) => print(resource, capacity[resource]) },
        { title: t('node.allocatable'), cell: (resource) => print(resource, allocatable[resource]) },
        { title: t('node.requested'), cell: (resource) => bar(resource, requested && (requested[resource] ?? 0)) },
        ...(usage
          ? [{ title: t('node.used'), cell: (resource: string) => (isMeasured(resource) ? bar(resource, usage[resource]) : '') }]
          : []),
      ]}
    />
  );
}

function NodePodTable(props: SectionProps) {
  useRights([podsRight('list'), podsRight('watch')]);
  return (
    <Guarded right={podsRight('list')}>
      <PodRows {...props} />
    </Guarded>
  );
}

function PodRows(props: SectionProps) {
  const kind = podsOf(props);
  const { load, lost } = useNodePods(kind, props.object.metadata.name);
  if (kind === undefined) return null;
  const requested = (pod: ClusterObject, resource: string) => {
    const value = requestedBy([pod])[resource];
    return value === undefined ? '' : quantity(resource, value);
  };
  return (
    <Loaded load={load} lost={lost.value}>
      {({ pods, isPartial }) => (
        <>
          {isPartial && <Notice kind="info">{t('node.first', { count: pods.length })}</Notice>}
          {pods.length === 0 ? (
            !isPartial && <Empty text={t('node.noPods')} />
          ) : (
            <PlainTable
              label={t('node.pods')}
              rows={pods}
              idOf={({ metadata }) => `${metadata.namespace}/${metadata.name}`}
              columns={[
                {
                  title: t('node.pod'),
                  cell: ({ metadata }) => <a href={href(pageOf(kind, metadata))}>{metadata.name}</a>,
                },
                {
                  title: t('cluster.namespace'),
                  cell: ({ metadata }) =>
                    metadata.namespace && <ObjectLink kinds={props.kinds} kind="Namespace" name={metadata.namespace} />,
                },
                { title: t('cluster.state'), cell: (pod) => <StateView of={objectState(pod)} /> },
                { title: t('node.cpuRequests'), cell: (pod) => requested(pod, 'cpu') },
                { title: t('node.memoryRequests'), cell: (pod) => requested(pod, 'memory') },
                { title: t('cluster.age'), cell: (pod) => <Age since={pod.metadata.creationTimestamp} /> },
              ]}
            />
          )}
        </>
      )}
    </Loaded>
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = {
  nodes: [
    problems,
    { title: 'node.node', View: NodeFacts },
    { title: 'node.resources', View: NodeResources },
    nodeUsage,
    { title: 'node.pods', View: NodePodTable },
  ],
};
