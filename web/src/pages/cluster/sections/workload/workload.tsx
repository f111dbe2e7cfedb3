import { objectState } from '@atrium/objects/object-state.ts';
import { type Rollout, rolloutOf } from '@atrium/objects/rollout.ts';
import { t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { Meter } from '../../../../ui/meter';
import { Notice } from '../../../../ui/state';
import { durationText } from '../batch/seconds';
import { chain } from '../chain/chain-section';
import { ObjectLink } from '../object-link';
import { selectedPods } from '../pod/selected-pods';
import { templateSections } from '../pod/template';
import type { Section, SectionProps } from '../section';
import { selectedLabels } from '../selector';
import { workloadUsage } from '../usage-history/object-usage';
import { warnings } from '../warnings';
import { History } from './history';
import { WorkloadBounds } from './workload-bounds';

const tones = { done: 'ok', progressing: 'info', unseen: 'info', stuck: 'bad', paused: 'warn', stopped: 'info' } as const;

function RolloutView(props: SectionProps) {
  const rollout = rolloutOf(props.object);
  const { state, wanted, updated, ready, available, message } = rollout;
  const { word, tone } = objectState(props.object);
  // Pods that were lost after a rollout are no progress of it.
  const isLost = state === 'progressing' && (word === 'Degraded' || word === 'Unavailable');
  return (
    <>
      <Notice kind={isLost ? (tone === 'bad' ? 'bad' : 'warn') : tones[state]}>
        {t(isLost ? 'rollout.lost' : `rollout.${state}`, { wanted, updated, ready, available })} {state === 'stuck' && message}
      </Notice>
      <Bar rollout={rollout} />
      <Facts of={factsOf(props)} />
    </>
  );
}

/** Desired, updated, ready and available pods, each as a part of the desired ones. */
function Bar({ rollout: { wanted, updated, ready, available } }: { rollout: Rollout }) {
  const parts = { updated, ready, available };
  return (
    <dl class="rollout">
      {Object.entries(parts).map(([name, count]) => (
        <div key={name}>
          <dt>{t(`rollout.${name as keyof typeof parts}Pods`)}</dt>
          <dd>
            <Meter value={count} of={Math.max(wanted, count, 1)} />
            <span>{t('rollout.of', { count, wanted })}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface Strategy {
  type?: string;
  rollingUpdate?: { maxSurge?: number | string; maxUnavailable?: number | string; partition?: number };
}

interface WorkloadSpec {
  serviceName?: string;
  podManagementPolicy?: string;
  minReadySeconds?: number;
}

function strategyText(strategy: Strategy | undefined): string {
  const { type = '', rollingUpdate = {} } = strategy ?? {};
  const limits = Object.entries(rollingUpdate).map(([name, value]) => `${name} ${value}`);
  return limits.length > 0 ? `${type} (${limits.join(', ')})` : type;
}

function factsOf({ kinds, object }: SectionProps) {
  const { metadata, spec = {} } = object;
  const { serviceName, podManagementPolicy, minReadySeconds } = spec as WorkloadSpec;
  const template = spec.template as { spec?: { containers?: { name: string; image?: string }[] } } | undefined;
  const images = template?.spec?.containers ?? [];
  return [
    [t('object.strategy'), strategyText((spec.strategy ?? spec.updateStrategy) as Strategy | undefined)],
    [
      t('object.images'),
      <ul key="images">
        {images.map(({ name, image }) => (
          <li key={name}>
            {name} <code>{image}</code>
          </li>
        ))}
      </ul>,
    ],
    [t('net.selector'), selectedLabels(object)],
    [
      t('net.service'),
      serviceName && <ObjectLink key="service" kinds={kinds} kind="Service" name={serviceName} namespace={metadata.namespace} />,
    ],
    [t('workload.order'), podManagementPolicy],
    [t('workload.minReady'), minReadySeconds ? durationText(minReadySeconds) : ''],
  ] as const;
}

const bounded: readonly Section[] = [
  warnings,
  { title: 'object.rollout', View: RolloutView },
  chain,
  workloadUsage,
  { title: 'workload.bounds', View: WorkloadBounds },
  selectedPods,
];

const withHistory: readonly Section[] = [...bounded, { title: 'object.history', View: History }, ...templateSections];

export const sections: Readonly<Record<string, readonly Section[]>> = {
  'deployments.apps': withHistory,
  'replicasets.apps': [...bounded, ...templateSections],
  'statefulsets.apps': withHistory,
  'daemonsets.apps': withHistory,
};
