/** Columns of a kind that `lists.resources` names. */
import type { Schemas } from '../../../api/client';
import { kindId } from '../../../api/kinds';
import { t } from '../../../text/text';
import { Age } from '../../../ui/age';
import type { Column } from '../../../ui/table';
import { ageColumn, columnTitle, isNodeOf, nameColumn, namespaceColumn, nodeLink, StateView, stateIn } from '../cells';
import type { ListProps } from './list-frame';

type Row = Schemas['ResourceRow'];
export type OfferedColumn = Schemas['OfferedResourceList']['items'][number]['columns'][number];

/** Columns of `kubectl get -o wide`, and sums of other pages: they leave no room for the names. */
const wide = new Set([
  ...['images', 'ip', 'cpuAllocatable', 'memoryAllocatable'],
  ...['cpuRequests', 'memoryRequests', 'cpuLimits', 'memoryLimits'],
]);

/** Columns that repeat a part of the status. */
const inStatus: Readonly<Record<string, readonly string[]>> = {
  nodes: ['ready', 'unschedulable'],
  'jobs.batch': ['complete', 'failed'],
  'cronjobs.batch': ['suspend'],
};

/** Texts that hold numbers. */
const figures = new Set(['ready', 'capacity']);

export const isState = (name: string): boolean => /(?:^s|S)tat(?:e|us)$|(?:^p|P)hase$/.test(name);

/** @param states columns that the page adds after the name */
export function offeredColumns(
  { kind, namespace }: ListProps,
  columns: readonly OfferedColumn[],
  states: Column<Row>[] = [],
): Column<Row>[] {
  const hasStatus = columns.some(({ name }) => name === 'status');
  const hidden = new Set([...wide, ...(hasStatus ? ['phase', ...(inStatus[kindId(kind)] ?? [])] : [])]);
  return [
    nameColumn(kind, t('users.name'), 'name'),
    ...(kind.isNamespaced && namespace === undefined ? [namespaceColumn<Row>(kind, 'namespace')] : []),
    ...states,
    ...columns.filter(({ name }) => !hidden.has(name) && !(states.length > 0 && isState(name))).map((column) => valueColumn(kind, column)),
    ageColumn(t('cluster.age'), 'creationTimestamp'),
  ];
}

function valueColumn(kind: ListProps['kind'], { name, title = titleOf(name), type }: OfferedColumn): Column<Row> {
  const isStateColumn = isState(name);
  return {
    id: isStateColumn ? 'phase' : `x-${name}`,
    title: columnTitle(title),
    sortBy: name,
    isMinor: !isStateColumn,
    isNumber: type === 'number' || type === 'date' || (type === 'string' && figures.has(name)),
    isEssential: name === 'message',
    cell({ values }) {
      const value = values[name] ?? '';
      if (value === '') return '';
      if (isStateColumn) {
        const text = (column: string) => String(values[column] ?? '');
        const state = { status: String(value), ready: text('ready'), phase: text('phase'), pressure: text('pressure') };
        return <StateView of={stateIn(kind, state)} />;
      }
      if (isNodeOf(kind, name)) return nodeLink(value);
      return type === 'date' ? <Age since={String(value)} /> : String(value);
    },
  };
}

/** Returns the title of a column: `currentState` becomes Current State, `ip` becomes IP. */
const titleOf = (name: string): string =>
  name.length <= 2 ? name.toUpperCase() : name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/([a-z])([A-Z])/g, '$1 $2');
