import { useEffect, useState } from 'preact/hooks';
import type { ClusterObject } from '../../../../api/objects';
import { t } from '../../../../text/text';
import { Ago } from '../../../../ui/age';
import { Facts } from '../../../../ui/facts';
import { PlainTable } from '../../../../ui/plain-table';
import { Notice } from '../../../../ui/state';
import { problems } from '../conditions/condition-notices';
import { findKind, groupOf } from '../find-kind';
import { ObjectLink } from '../object-link';
import { RelatedTable } from '../related/related-table';
import type { Section, SectionProps } from '../section';
import { selectorText } from '../selector';
import { UsageBar } from '../usage-bar';
import { budgetFigures } from './budget';
import { leaseState } from './lease';
import { metricRows } from './metrics';
import { LimitTable, QuotaTable } from './quota-tables';

interface ScalerSpec {
  scaleTargetRef?: { apiVersion?: string; kind: string; name: string };
  minReplicas?: number;
  maxReplicas?: number;
}

interface ScalerStatus {
  currentReplicas?: number;
  desiredReplicas?: number;
  lastScaleTime?: string;
}

function Scaler({ kinds, object }: SectionProps) {
  const { scaleTargetRef: target, minReplicas = 1, maxReplicas = 0 } = (object.spec ?? {}) as ScalerSpec;
  const { currentReplicas, desiredReplicas, lastScaleTime } = (object.status ?? {}) as ScalerStatus;
  const { namespace } = object.metadata;
  return (
    <Facts
      of={[
        [
          t('scaler.target'),
          target && (
            <span key="target">
              {target.kind} <ObjectLink {...{ kinds, ...target, namespace }} group={groupOf(target.apiVersion)} />
            </span>
          ),
        ],
        [t('scaler.bounds'), t('scaler.fromTo', { min: minReplicas, max: maxReplicas })],
        [
          t('scaler.current'),
          currentReplicas === undefined ? (
            t('node.unknown')
          ) : (
            <UsageBar key="current" label={String(currentReplicas)} value={currentReplicas} of={maxReplicas} />
          ),
        ],
        [t('scaler.desired'), desiredReplicas === undefined ? t('node.unknown') : String(desiredReplicas)],
        [t('scaler.last'), lastScaleTime ? <Ago key="last" since={lastScaleTime} /> : t('users.never')],
      ]}
    />
  );
}

function Metrics({ object }: SectionProps) {
  return (
    <PlainTable
      label={t('scaler.metrics')}
      rows={metricRows(object)}
      idOf={({ id }) => id}
      columns={[
        { title: t('scaler.metric'), cell: ({ name }) => name },
        {
          title: t('scaler.now'),
          cell: ({ current, currentValue, targetValue }) =>
            current === undefined ? (
              <span class="muted">{t('node.unknown')}</span>
            ) : (
              <UsageBar label={current} value={currentValue} of={targetValue} isBare isSoft />
            ),
        },
        { title: t('scaler.wanted'), cell: ({ target }) => target },
      ]}
    />
  );
}

interface BudgetSpec {
  minAvailable?: number | string;
  maxUnavailable?: number | string;
  unhealthyPodEvictionPolicy?: string;
  selector?: object;
}

function Budget({ object }: SectionProps) {
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy } = (object.spec ?? {}) as BudgetSpec;
  const figures = budgetFigures(object);
  return (
    <>
      {figures ? (
        <Notice kind={figures.allowed > 0 ? 'ok' : 'warn'}>
          {figures.allowed > 0 ? t('budget.allowed', { count: figures.allowed }) : t('budget.none')} {t('budget.healthy', figures)}
        </Notice>
      ) : (
        <Notice kind="info">{t('budget.unseen')}</Notice>
      )}
      <Facts
        of={[
          [t('budget.min'), minAvailable !== undefined && String(minAvailable)],
          [t('budget.max'), maxUnavailable !== undefined && String(maxUnavailable)],
          [t('budget.unhealthy'), unhealthyPodEvictionPolicy],
        ]}
      />
    </>
  );
}

/** An empty selector finds all pods of the namespace, a missing one none. */
const budgetLabels = ({ spec }: ClusterObject): string | undefined => selectorText((spec as BudgetSpec | undefined)?.selector);

function BudgetPods({ kinds, object }: SectionProps) {
  const pods = findKind(kinds, 'pods');
  if (pods === undefined) return <p class="muted">{t('object.notServed', { kind: 'pods' })}</p>;
  const selection = { labelSelector: budgetLabels(object) ?? '' };
  return <RelatedTable kinds={kinds} kind={pods} namespace={object.metadata.namespace} selection={selection} label={t('object.pods')} />;
}

function Scopes({ object }: SectionProps) {
  const { scopes = [], scopeSelector } = (object.spec ?? {}) as {
    scopes?: readonly string[];
    scopeSelector?: { matchExpressions?: readonly ScopeRule[] };
  };
  const rules = (scopeSelector?.matchExpressions ?? []).map(({ scopeName, operator, values = [] }) =>
    [scopeName, operator, ...values].join(' '),
  );
  return <Facts of={[[t('quota.scopes'), [...scopes, ...rules].join(', ')]]} />;
}

interface ScopeRule {
  scopeName: string;
  operator: string;
  values?: readonly string[];
}

function Priority({ object: { value, globalDefault, preemptionPolicy, description } }: SectionProps) {
  return (
    <Facts
      of={[
        [t('priority.value'), String(value ?? 0)],
        [t('priority.default'), t(globalDefault === true ? 'object.yes' : 'object.no')],
        [t('priority.preemption'), String(preemptionPolicy ?? 'PreemptLowerPriority')],
        [t('gateway.description'), typeof description === 'string' && description],
      ]}
    />
  );
}

const lookAgainMs = 1000;

function Lease({ kinds, object }: SectionProps) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), lookAgainMs);
    return () => clearInterval(timer);
  }, []);
  const { state, holder, seconds, acquired, renewed, transitions } = leaseState(object, now);
  const isNode = object.metadata.namespace === 'kube-node-lease';
  return (
    <>
      <Notice kind={state === 'held' ? 'ok' : 'warn'}>{t(`lease.${state}`, { holder })}</Notice>
      <Facts
        of={[
          [t('lease.holder'), isNode && holder ? <ObjectLink key="holder" {...{ kinds, name: holder }} kind="Node" /> : holder],
          [t('lease.duration'), seconds !== undefined && `${seconds} s`],
          [t('lease.acquired'), acquired && <Ago key="acquired" since={acquired} />],
          [t('lease.renewed'), renewed && <Ago key="renewed" since={renewed} />],
          [t('lease.transitions'), transitions !== undefined && String(transitions)],
        ]}
      />
    </>
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = {
  'horizontalpodautoscalers.autoscaling': [problems, { View: Scaler }, { title: 'scaler.metrics', View: Metrics }],
  'poddisruptionbudgets.policy': [
    { View: Budget },
    { title: 'object.pods', isShown: (object) => budgetLabels(object) !== undefined, View: BudgetPods },
  ],
  resourcequotas: [{ View: Scopes }, { title: 'namespace.quotas', View: ({ object }) => <QuotaTable quota={object} /> }],
  limitranges: [{ title: 'namespace.limits', View: ({ object }) => <LimitTable range={object} /> }],
  'priorityclasses.scheduling.k8s.io': [{ View: Priority }],
  'leases.coordination.k8s.io': [{ View: Lease }],
};
