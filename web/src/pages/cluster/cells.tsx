import { CircleAlert, CircleCheck, Clock } from 'lucide';
import { stringifyJson } from '../../api/json';
import { type Kind, pageOf } from '../../api/kinds';
import type { TableColumn } from '../../api/objects';
import { href } from '../../app/router';
import { t } from '../../text/text';
import { Age } from '../../ui/age';
import { Icon } from '../../ui/icon';
import type { Column } from '../../ui/table';
import type { Row } from './list/table-list';

interface Listed {
  metadata: { name: string; namespace?: string; creationTimestamp?: string };
}

/** Column of the names, which link to the objects. */
export const nameColumn = <T extends Listed>(kind: Kind, title: string, sortBy = title): Column<T> => ({
  ...{ id: 'name', title, sortBy },
  cell: ({ metadata }) => (
    <a class="strong" href={href(pageOf(kind, metadata))}>
      {metadata.name}
    </a>
  ),
});

export const namespaceColumn = <T extends Listed>(kind: Kind, sortBy = 'Namespace'): Column<T> => ({
  ...{ id: 'namespace', title: t('cluster.namespace'), sortBy },
  cell: ({ metadata }) => <a href={href(pageOf(kind, { namespace: metadata.namespace }))}>{metadata.namespace}</a>,
});

export const ageColumn = <T extends Listed>(title: string, sortBy = title): Column<T> => ({
  ...{ id: 'age', title, sortBy },
  cell: ({ metadata }) => <Age since={metadata.creationTimestamp} />,
});

const states = ['Status', 'Phase', 'State'];

/** A column of kubectl's as one of ours: the name is a link, the age counts on, a state has a shape beside its word. */
export function cellOf(kind: Kind, { name }: TableColumn, index: number): Column<Row> {
  const [title, sortBy, id] = [name, name, `x-${index}`];
  if (index === 0) return nameColumn(kind, name);
  if (isNodeOf(kind, name)) return { id, title, sortBy, isMinor: true, cell: ({ cells }) => nodeLink(cells.get(name)) };
  if (name === 'Age') return ageColumn(name);
  if (states.includes(name))
    return { id: 'phase', title, sortBy, isMinor: false, cell: ({ cells }) => <StateWord word={String(cells.get(name) ?? '')} /> };
  return { id, title, sortBy, isMinor: true, cell: ({ cells }) => textOf(cells.get(name)) };
}

/** Reports whether a column has the node of a pod, by its title or by its name. */
export const isNodeOf = (kind: Kind, column: string): boolean =>
  kind.group === '' && kind.resource === 'pods' && column.toLowerCase() === 'node';

/** Pods that are not scheduled have no node, which kubectl prints as `<none>`. */
export function nodeLink(value: unknown) {
  const name = textOf(value);
  if (name === '' || name === '<none>') return name;
  return <a href={href(pageOf({ group: '', version: 'v1', resource: 'nodes' }, { name }))}>{name}</a>;
}

const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : typeof value === 'object' ? stringifyJson(value) : String(value);

const good = new Set(['Running', 'Active', 'Bound', 'Available', 'Ready', 'Complete', 'Completed', 'Succeeded', 'True', 'Normal']);
const under = new Set([
  'Pending',
  'ContainerCreating',
  'PodInitializing',
  'Terminating',
  'Draining',
  'Progressing',
  'Released',
  'Warning',
  'Unknown',
]);

/** A state in the cluster's own word, with a shape: never colour alone. */
export function StateWord({ word }: { word: string }) {
  if (word === '') return null;
  const first = word.split(/[\s,(]/, 1)[0] ?? '';
  const tone = toneOf(first, word);
  return tone === undefined ? <span title={word}>{word}</span> : <StateShape tone={tone} word={word} />;
}

function toneOf(first: string, word: string): keyof typeof shapes | undefined {
  if (good.has(first)) return 'ok';
  if (under.has(first)) return 'warn';
  if (isBad(word)) return 'bad';
  return first.startsWith('Init:') ? 'warn' : undefined;
}

const shapes = { ok: CircleCheck, warn: Clock, bad: CircleAlert } as const;

export const StateShape = ({ tone, word }: { tone: keyof typeof shapes; word: string }) => (
  <span class={`phase ${tone}`} title={word}>
    <Icon of={shapes[tone]} />
    <span>{word}</span>
  </span>
);

const isBad = (word: string): boolean => /err|exitcode|signal|fail|backoff|evict|oom|unhealthy|notready|lost|invalid|false/i.test(word);
