import type { ComponentChildren } from 'preact';
import type { ClusterObject } from '../../../../api/objects';
import { t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { findKind, groupOf } from '../find-kind';
import { budgetFigures } from '../limits/budget';
import { metricRows } from '../limits/metrics';
import { ObjectLink } from '../object-link';
import { RelatedObjects } from '../related/related-objects';
import type { SectionProps } from '../section';
import { selects } from '../selector';

interface Target {
  apiVersion?: string;
  kind: string;
  name: string;
}

/** A ReplicaSet of a Deployment is scaled through its owner. */
function isScaledBy({ spec }: ClusterObject, { apiVersion, kind, metadata }: ClusterObject): boolean {
  const target = spec?.scaleTargetRef as Target | undefined;
  const owners = (metadata.ownerReferences ?? []).filter(({ controller }) => controller === true);
  return [{ apiVersion, kind, name: metadata.name }, ...owners].some(
    (one) => one.kind === target?.kind && one.name === target.name && groupOf(one.apiVersion) === groupOf(target.apiVersion),
  );
}

/** A budget counts pods, which have the labels of the template. */
function isKeptBy({ spec }: ClusterObject, workload: ClusterObject): boolean {
  const template = workload.spec?.template as { metadata?: { labels?: Record<string, string> } } | undefined;
  return selects(spec?.selector, template?.metadata?.labels ?? {});
}

/** Says in the form of the replicas that an autoscaler will change them again. */
export function Autoscaled({ kinds, object }: Pick<SectionProps, 'kinds' | 'object'>) {
  const { resource, group } = families.scaler;
  const id = `${resource}.${group}`;
  if (findKind(kinds, id) === undefined) return null;
  return (
    <RelatedObjects {...{ kinds, id }} namespace={object.metadata.namespace}>
      {(scalers) =>
        scalers
          .filter((scaler) => isScaledBy(scaler, object))
          .map((scaler) => (
            <p key={scaler.metadata.name} class="measure">
              {t('cluster.autoscaled', { name: scaler.metadata.name, replicas: scalerText(scaler) })}
            </p>
          ))
      }
    </RelatedObjects>
  );
}

function scalerText(scaler: ClusterObject): string {
  const { minReplicas: min = 1, maxReplicas: max = 0 } = (scaler.spec ?? {}) as { minReplicas?: number; maxReplicas?: number };
  const { currentReplicas: count } = (scaler.status ?? {}) as { currentReplicas?: number };
  const replicas = count === undefined ? t('scaler.fromTo', { min, max }) : t('workload.scaled', { count, min, max });
  const metrics = metricRows(scaler).map(({ name, current, target }) =>
    current === undefined ? t('workload.metricUnknown', { name, target }) : t('workload.metric', { name, current, target }),
  );
  return [replicas, ...metrics].join('; ');
}

function budgetText(budget: ClusterObject): string {
  const figures = budgetFigures(budget);
  if (figures === undefined) return t('budget.unseen');
  const { allowed: count } = figures;
  return `${count > 0 ? t('budget.allowed', { count }) : t('budget.none')} ${t('budget.healthy', figures)}`;
}

const families = {
  scaler: {
    resource: 'horizontalpodautoscalers',
    group: 'autoscaling',
    kind: 'HorizontalPodAutoscaler',
    matches: isScaledBy,
    textOf: scalerText,
  },
  budget: { resource: 'poddisruptionbudgets', group: 'policy', kind: 'PodDisruptionBudget', matches: isKeptBy, textOf: budgetText },
} as const;

interface BoundsProps extends Pick<SectionProps, 'kinds' | 'object'> {
  of: keyof typeof families;
  none: ComponentChildren;
}

/** Objects of one kind that hold for a workload, live, as far as the caller may list them. */
function Bounds({ kinds, object, of, none }: BoundsProps) {
  const { resource, group, kind, matches, textOf } = families[of];
  const { namespace } = object.metadata;
  return (
    <RelatedObjects {...{ kinds, namespace }} id={`${resource}.${group}`}>
      {(objects, isPart) => {
        const found = objects.filter((one) => matches(one, object));
        if (found.length === 0) return isPart ? null : <span class="muted">{none}</span>;
        return (
          <ul>
            {found.map((one) => {
              const { name } = one.metadata;
              return (
                <li key={name}>
                  <ObjectLink {...{ kinds, kind, name, namespace }} group={group} /> <span class="muted">{textOf(one)}</span>
                </li>
              );
            })}
          </ul>
        );
      }}
    </RelatedObjects>
  );
}

/** Shows what scales a workload and what limits evictions of its pods. A DaemonSet cannot be scaled. */
export function WorkloadBounds({ kind, kinds, object }: SectionProps) {
  return (
    <Facts
      of={[
        [
          'HorizontalPodAutoscaler',
          kind.resource !== 'daemonsets' && <Bounds key="scaler" {...{ kinds, object }} of="scaler" none={t('workload.noScaler')} />,
        ],
        ['PodDisruptionBudget', <Bounds key="budget" {...{ kinds, object }} of="budget" none={t('workload.noBudget')} />],
      ]}
    />
  );
}
