import type { ClusterObject } from '../../../../api/objects';
import { t } from '../../../../text/text';
import { PlainTable } from '../../../../ui/plain-table';
import { UsageBar } from '../usage-bar';
import { limitRows, quotaRows } from './quota';

/** The use of each resource beside its limit. */
export function QuotaTable({ quota }: { quota: ClusterObject }) {
  return (
    <PlainTable
      label={t('quota.of', { name: quota.metadata.name })}
      rows={quotaRows(quota)}
      idOf={({ resource }) => resource}
      columns={[
        { title: t('node.resource'), cell: ({ resource }) => resource },
        {
          title: t('quota.used'),
          cell: ({ used, usedValue, hardValue }) =>
            used === undefined ? (
              <span class="muted">{t('quota.notCounted')}</span>
            ) : (
              <UsageBar label={used} value={usedValue} of={hardValue} />
            ),
        },
        { title: t('quota.hard'), cell: ({ hard }) => hard },
      ]}
    />
  );
}

/** Bounds and defaults, a row for each type and resource. */
export function LimitTable({ range }: { range: ClusterObject }) {
  return (
    <PlainTable
      label={t('quota.limitsOf', { name: range.metadata.name })}
      rows={limitRows(range)}
      idOf={({ type, resource }) => `${type}/${resource}`}
      columns={[
        { title: t('net.type'), cell: ({ type }) => type },
        { title: t('node.resource'), cell: ({ resource }) => resource },
        { title: t('quota.min'), cell: ({ min }) => min },
        { title: t('quota.max'), cell: ({ max }) => max },
        { title: t('quota.defaultRequest'), cell: ({ defaultRequest }) => defaultRequest },
        { title: t('quota.defaultLimit'), cell: (row) => row.default },
        { title: t('quota.ratio'), cell: ({ maxLimitRequestRatio }) => maxLimitRequestRatio },
      ]}
    />
  );
}
