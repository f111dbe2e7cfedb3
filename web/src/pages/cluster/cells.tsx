import type { ObjectState } from '@atrium/objects/object-state.ts';
import { type Tone, toneOfWord } from '@atrium/objects/state-tone.ts';
import { CircleAlert, CircleCheck, CirclePause, Clock } from 'lucide';
import { stringifyJson } from '../../api/json';
import { type Kind, pageOf } from '../../api/kinds';
import type { TableColumn } from '../../api/objects';
import { hasStateColumn } from '../../api/stated-kinds';
import { href } from '../../app/router';
import { t, tOf } from '../../text/text';
import { Age } from '../../ui/age';
import { Icon } from '../../ui/icon';
import type { Column } from '../../ui/table';
import type { Row } from './list/table-list';

type ShownState = Pick<ObjectState, 'word' | 'tone' | 'reason'>;

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
  ...{ id: 'age', title, sortBy, isNumber: true },
  cell: ({ metadata }) => <Age since={metadata.creationTimestamp} />,
});

const states = ['Status', 'Phase', 'State'];

/** Returns the title of a column in the language of the console. Titles of other kinds are the server's. */
export function columnTitle(title: string): string {
  const key = title.replaceAll(/[^A-Za-z]/g, '').toLowerCase();
  const text = tOf('column', key);
  return text === key ? title : text;
}

/** A column of kubectl's as one of ours: the name is a link, the age counts on, a state has a shape beside its word. */
export function cellOf(kind: Kind, { name, type }: TableColumn, index: number): Column<Row> {
  const [title, sortBy, id] = [columnTitle(name), name, `x-${index}`];
  if (index === 0) return nameColumn(kind, title, sortBy);
  if (isNodeOf(kind, name)) return { id, title, sortBy, isMinor: true, cell: ({ cells }) => nodeLink(cells.get(name)) };
  if (name === 'Age') return ageColumn(title, sortBy);
  if (states.includes(name)) return stateCell(kind, name);
  const isNumber = type === 'integer' || type === 'number' || figures.has(name);
  return { id, title, sortBy, isNumber, isMinor: true, cell: ({ cells }) => textOf(cells.get(name)) };
}

/** Columns of kubectl's that are texts, and hold numbers, amounts or times. */
const figures = new Set([
  'Ready',
  'Restarts',
  'Completions',
  'Duration',
  'Last Schedule',
  'Last Seen',
  'Capacity',
  'Min Available',
  'Max Unavailable',
]);

const stateCell = (kind: Kind, name: string): Column<Row> => ({
  ...{ id: 'phase', title: hasStateColumn(kind) ? t('cluster.state') : columnTitle(name), sortBy: name, isMinor: false },
  cell: ({ cells, state }) => (
    <StateView of={state ?? stateIn(kind, { status: textOf(cells.get(name)), ready: textOf(cells.get('Ready')) })} />
  ),
});

interface RowTexts {
  status: string;
  ready?: string;
  phase?: string;
  pressure?: string;
}

/** Returns the state of a row, of which only the columns are known, in the tone that the page of the object has. */
export function stateIn({ group, resource }: Kind, { status, ready = '', phase = '', pressure = '' }: RowTexts): ShownState {
  const [now, wanted] = ready.split('/');
  const isPod = group === '' && resource === 'pods';
  if (isPod && phase === 'Failed') return { word: status, tone: 'bad', reason: '' };
  if (isPod && status === 'Running' && now !== wanted) return { word: status, tone: 'warn', reason: ready };
  return { word: status, tone: toneOfWord(`${status},${pressure}`), reason: pressure };
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

const shapes = { ok: CircleCheck, warn: Clock, bad: CircleAlert, off: CirclePause } as const;

/** Returns the word of a state as it is shown: kubectl's word for a cordoned node names a setting. */
export const shownState = (word: string): string => word.replace(/,?SchedulingDisabled/, `, ${t('cluster.cordoned')}`);

/** A state in the cluster's own word, with a shape: never colour alone. */
export const StateWord = ({ word }: { word: string }) => <StateView of={{ word, tone: toneOfWord(word), reason: '' }} />;

/** The state of an object, with its reason on hover. */
export function StateView({ of: { word, tone, reason } }: { of: ShownState }) {
  if (word === '') return null;
  const title = reason === '' ? word : `${word}: ${reason}`;
  if (tone === undefined) return <span title={title}>{word}</span>;
  return <StateShape {...{ tone, title }} word={shownState(word)} />;
}

interface StateShapeProps {
  tone: Tone;
  word: string;
  title?: string;
}

export const StateShape = ({ tone, word, title = word }: StateShapeProps) => (
  <span class={`phase ${tone}`} title={title}>
    <Icon of={shapes[tone]} />
    <span>{word}</span>
  </span>
);
