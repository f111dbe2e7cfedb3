import { folded, wantedText } from '@atrium/objects/folded.ts';
import { useSignal } from '@preact/signals';
import { ArrowDown, ArrowUp, CircleAlert, CircleCheck, CircleSlash, TriangleAlert } from 'lucide';
import type { Cell, Column, Table } from '../../../template/atrium-console';
import { pageOf } from '../../api/kinds';
import { href } from '../../app/router';
import { count, language, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Icon } from '../../ui/icon';
import { PlainTable } from '../../ui/plain-table';
import { SearchInput } from '../../ui/search';
import { Empty } from '../../ui/state';

/** Rows that are shown at first, and added by each click. */
const portion = 200;

const shapes = { ok: CircleCheck, warn: TriangleAlert, bad: CircleAlert, off: CircleSlash } as const;

type Value = string | number;

const cellsOf = (cell: Cell | readonly Cell[]): readonly Cell[] => (Array.isArray(cell) ? cell : [cell as Cell]);
/** An empty cell has no element: on a phone its title is left out. */
const withText = (cell: Cell | readonly Cell[]): readonly Cell[] => cellsOf(cell).filter((one) => textOf(one) !== '');
const textOf = (cell: Cell): string => String(typeof cell === 'object' ? cell.text : cell);

/** Rows of a plugin: found by the words in them, and sorted by a click on a title. */
export function RowTable<Row>({ label, columns, rows, idOf, empty, isSearchable = false }: Table<Row>) {
  const words = useSignal('');
  const order = useSignal<{ title: string; isDescending: boolean } | undefined>(undefined);
  const shown = useSignal(portion);
  const wanted = wantedText(words.value);
  const fitting = wanted === '' ? rows : rows.filter((row) => folded(textsOf(columns, row)).includes(wanted));
  const sorted = inOrder(fitting, columns.find(({ title }) => title === order.value?.title)?.sortBy, order.value?.isDescending);
  const isDown = order.value?.isDescending === true;
  const sortBy = (title: string) => () => {
    order.value = { title, isDescending: order.value?.title === title && !isDown };
  };
  return (
    <div class="rows">
      {isSearchable && rows.length > 0 && (
        <search class="filters">
          <SearchInput label={t('keys.find')} value={words.value} onInput={(typed) => (words.value = typed)} />
          <p class="muted count" role="status">
            {count(fitting.length)}
          </p>
        </search>
      )}
      {sorted.length === 0 ? (
        <Empty text={rows.length === 0 ? empty : t('list.noneMatch')} />
      ) : (
        <PlainTable
          label={label}
          rows={sorted.slice(0, shown.value)}
          idOf={idOf}
          columns={columns.map((column) => ({
            title: column.title,
            isNumber: column.isNumber,
            cell: (row: Row) => <CellView of={column.cell(row)} />,
            ...(column.sortBy && {
              order: order.value?.title !== column.title ? undefined : isDown ? 'descending' : 'ascending',
              head: (
                <button type="button" onClick={sortBy(column.title)}>
                  {column.title}
                  {order.value?.title === column.title && <Icon of={isDown ? ArrowDown : ArrowUp} size={14} />}
                </button>
              ),
            }),
          }))}
        />
      )}
      {sorted.length > shown.value && (
        <p>
          {t('list.first', { shown: count(shown.value), total: count(sorted.length) })}{' '}
          <Button kind="quiet" onClick={() => (shown.value += portion)}>
            {t('list.show')}
          </Button>
        </p>
      )}
    </div>
  );
}

const textsOf = <Row,>(columns: readonly Column<Row>[], row: Row): string =>
  columns.flatMap(({ cell }) => cellsOf(cell(row)).map(textOf)).join(' ');

function inOrder<Row>(rows: readonly Row[], sortedBy: ((row: Row) => Value) | undefined, isDescending = false): readonly Row[] {
  if (sortedBy === undefined) return rows;
  const { compare } = new Intl.Collator(language.value, { numeric: true });
  const byValue = (left: Value, right: Value): number =>
    typeof left === 'number' && typeof right === 'number' ? left - right : compare(String(left), String(right));
  const sorted = rows.map((row) => ({ row, value: sortedBy(row) })).sort((left, right) => byValue(left.value, right.value));
  return (isDescending ? sorted.reverse() : sorted).map(({ row }) => row);
}

const CellView = ({ of }: { of: Cell | readonly Cell[] }) => (
  <>
    {withText(of).map((cell, index) => (
      <span key={index} class="listed">
        <OneCell of={cell} />
      </span>
    ))}
  </>
);

function OneCell({ of: cell }: { of: Cell }) {
  if (typeof cell !== 'object') return cell;
  const { text, state, to, ref } = cell;
  const address = ref ? pageOf(ref, ref) : to;
  const content = state ? (
    <span class={`phase ${state}`}>
      <Icon of={shapes[state]} />
      <span>{text}</span>
    </span>
  ) : (
    text
  );
  return address === undefined ? content : <a href={href(address)}>{content}</a>;
}
