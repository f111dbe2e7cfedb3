import { t } from '../../../../text/text';
import { Age } from '../../../../ui/age';
import { PlainTable } from '../../../../ui/plain-table';
import { StateShape } from '../../cells';
import type { Section } from '../section';
import { conditionRows } from './conditions';

const words = { True: 'object.yes', False: 'object.no', Unknown: 'node.unknown' } as const;

/** Conditions of an object, or of a part of it. */
export function Conditions({ of, generation, label }: { of: unknown; generation?: number | undefined; label: string }) {
  return (
    <PlainTable
      label={label}
      rows={conditionRows(of, generation)}
      idOf={({ type }) => type}
      columns={[
        { title: t('cluster.condition'), cell: ({ name, type }) => <span title={type}>{name}</span> },
        {
          title: t('cluster.state'),
          cell: ({ status, tone }) => (tone ? <StateShape tone={tone} word={t(words[status])} /> : t(words[status])),
        },
        { title: t('cluster.reason'), cell: ({ reason }) => reason },
        { title: t('cluster.message'), cell: ({ message }) => message },
        { title: t('cluster.since'), cell: ({ since }) => <Age since={since} /> },
      ]}
    />
  );
}

/** All conditions of an object. */
export const allConditions: Section = {
  title: 'cluster.conditions',
  isShown: ({ status }) => Array.isArray(status?.conditions) && status.conditions.length > 0,
  View: ({ object: { metadata, status } }) => (
    <Conditions of={status?.conditions} generation={metadata.generation} label={t('cluster.conditions')} />
  ),
};
