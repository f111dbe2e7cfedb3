/** Table of any length. Only the rows in sight and a few beyond them are in the page. */
import { useSignal } from '@preact/signals';
import { ArrowDown, ArrowUp } from 'lucide';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { scrollOfVisit } from '../app/router';
import { density } from '../app/theme';
import { t } from '../text/text';
import { Button } from './button';
import { Icon } from './icon';
import { useColumnWidths } from './table-widths';

export interface Column<T> {
  id: string;
  title: string;
  /** Property by which the service sorts. */
  sortBy?: string;
  /** Numbers, amounts and ages stand below each other. */
  isNumber?: boolean | undefined;
  /** Left out on narrow screens. */
  isMinor?: boolean | undefined;
  /** Stays on wide screens, although minor. */
  isEssential?: boolean;
  cell: (row: T) => ComponentChildren;
}

export interface Sort {
  by: string;
  isDescending: boolean;
}

export interface TableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  total: number;
  row: (index: number) => T | undefined;
  idOf: (row: T) => string;
  /** Name of a row for screen readers. */
  nameOf: (row: T) => string;
  onRange?: (first: number, last: number) => void;
  sort?: Sort;
  onSort?: (sort: Sort) => void;
  /** Called when a link of the row is followed. */
  onOpen?: (row: T) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (rows: readonly T[], isSelected: boolean) => void;
  /** Greys rows that were read before a failure. */
  isOld?: boolean;
  /** Greys the rows after a moment, while those of another order or filter load. */
  isBusy?: boolean;
  /** Source of the rows. Rows of another source are shown from the top. */
  source?: unknown;
}

/** Rows beyond the edges, so that a turn of the wheel shows no gap. */
const beyond = 12;

/** The rows in sight, and a few beside them. */
function useRange<T>({ total, onRange, source }: TableProps<T>, place: RefObject<HTMLElement | null>) {
  const range = useSignal({ first: 0, last: 40 });
  const height = useSignal(36);
  const shownSource = useRef(source);

  function look(): void {
    const host = place.current;
    if (!host) return;
    height.value = Number.parseFloat(getComputedStyle(host).getPropertyValue('--row')) || 36;
    const first = Math.max(0, Math.floor(host.scrollTop / height.value) - beyond);
    const last = Math.min(total, Math.ceil((host.scrollTop + host.clientHeight) / height.value) + beyond);
    // Rows beyond those stay: rendering fewer rows takes longer than leaving them.
    if (first < range.value.first || last > range.value.last) range.value = { first, last };
  }
  useLayoutEffect(() => {
    // Another order or filter starts at its top.
    if (place.current && shownSource.current !== source) place.current.scrollTop = 0;
    shownSource.current = source;
    look();
    const observer = new ResizeObserver(look);
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, [total, density.value, source]);
  useEffect(() => {
    if (total > 0 && place.current) place.current.scrollTop = scrollOfVisit();
  }, [total > 0]);
  const { first, last } = range.value;
  const end = Math.min(last, total);
  useEffect(() => onRange?.(first, Math.max(first, end - 1)), [first, end, source]);
  return { first, end, height: height.value, look };
}

export function Table<T>(props: TableProps<T>) {
  const { label, columns, onSelect, isOld, sort } = props;
  const place = useRef<HTMLDivElement>(null);
  const { look, ...range } = useRange(props, place);
  const isWhole = useSignal(false);
  const hidden = useColumnWidths(place, {
    columns: [
      ...(onSelect ? [{ id: 'check', isMinor: false, isFixed: true, isName: false }] : []),
      ...columns.map(({ id, isMinor = false, isEssential = false, sortBy }, index) => ({
        ...{ id, isFixed: false, isName: index === 0 },
        isMinor: isMinor && !isEssential && sortBy !== sort?.by,
      })),
    ],
    isWhole: isWhole.value,
  });
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1) */}
      <section class={`table ${isOld ? 'old' : ''}`} ref={place} onScroll={look} data-scroll aria-label={label} tabIndex={0}>
        <Rows {...props} {...range} columns={columns.filter(({ id }) => !hidden.includes(id))} />
      </section>
      {(hidden.length > 0 || isWhole.value) && (
        <p class="hidden-columns">
          {hidden.length > 0 && t('table.hidden', { columns: titlesOf(columns, hidden) })}
          <Button
            kind="quiet"
            onClick={() => {
              isWhole.value = !isWhole.value;
            }}
          >
            {isWhole.value ? t('table.fit') : t('table.showHidden')}
          </Button>
        </p>
      )}
    </>
  );
}

const titlesOf = <T,>(columns: readonly Column<T>[], ids: readonly string[]): string =>
  columns
    .filter(({ id }) => ids.includes(id))
    .map(({ title }) => title)
    .join(', ');

interface RowsProps<T> extends TableProps<T> {
  first: number;
  end: number;
  /** Height of a row. */
  height: number;
}

function Rows<T>(props: RowsProps<T>) {
  const { columns, total, row, idOf, selected, onSelect, isBusy, first, end, height } = props;
  const indexes = Array.from({ length: Math.max(0, end - first) }, (_, offset) => first + offset);
  const width = columns.length + (onSelect ? 1 : 0);
  const shown = indexes.map(row).filter((found) => found !== undefined);
  return (
    <table aria-rowcount={total + 1} aria-busy={isBusy}>
      <colgroup>
        {onSelect && <col class="check" />}
        {columns.map(({ id, isMinor }) => (
          <col key={id} class={isMinor ? 'minor' : ''} />
        ))}
      </colgroup>
      <thead>
        <tr aria-rowindex={1}>
          {onSelect && (
            <th class="check">
              <Check
                label={t('table.selectShown')}
                isChecked={shown.length > 0 && shown.every((found) => selected?.has(idOf(found)))}
                onChange={(isChecked) => onSelect(shown, isChecked)}
              />
            </th>
          )}
          {columns.map((column) => (
            <Head key={column.id} column={column} {...props} />
          ))}
        </tr>
      </thead>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a link that has the focus is clicked by the keyboard, too */}
      <tbody onClick={({ target }) => opened(target, props)} onPointerOver={({ target }) => explainCut(target)}>
        {first > 0 && <Spacer height={first * height} width={width} />}
        {indexes.map((index) => {
          const found = row(index);
          return <Row key={found ? idOf(found) : index} {...props} index={index} found={found} />;
        })}
        {end < total && <Spacer height={(total - end) * height} width={width} />}
      </tbody>
    </table>
  );
}

/** Adds the whole text to a cell that is cut. */
function explainCut(target: EventTarget | null): void {
  const cell = target instanceof Element ? target.closest('td') : null;
  if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? (cell.textContent ?? '') : '';
}

/** Reports that a link of a row is followed. The router follows it; the keyboard triggers a click, too. */
function opened<T>(target: EventTarget | null, { onOpen, row }: TableProps<T>): void {
  if (onOpen === undefined || !(target instanceof Element) || target.closest('td a') === null) return;
  const found = row(Number(target.closest('tr')?.ariaRowIndex) - 2);
  if (found !== undefined) onOpen(found);
}

function Row<T>({ index, found, columns, idOf, nameOf, selected, onSelect }: TableProps<T> & { index: number; found: T | undefined }) {
  const isSelected = found !== undefined && selected?.has(idOf(found)) === true;
  return (
    <tr aria-rowindex={index + 2} class={isSelected ? 'selected' : ''}>
      {onSelect && (
        <td class="check">
          {found && (
            <Check
              label={t('table.select', { name: nameOf(found) })}
              isChecked={isSelected}
              onChange={(isChecked) => onSelect([found], isChecked)}
            />
          )}
        </td>
      )}
      {columns.map(({ id, isMinor, isNumber, cell, title }) => {
        const content = found ? cell(found) : <span class="waiting" />;
        // Truncated text keeps its beginning, in either writing direction.
        const direction = typeof content === 'string' ? 'auto' : undefined;
        return (
          <td key={id} class={classOf({ id, isMinor, isNumber })} data-title={title} dir={direction}>
            {content}
          </td>
        );
      })}
    </tr>
  );
}

const classOf = ({ id, isMinor, isNumber }: Pick<Column<unknown>, 'id' | 'isMinor' | 'isNumber'>): string =>
  `c-${id} ${isMinor ? 'minor' : ''} ${isNumber ? 'num' : ''}`;

function Head<T>({ column: { id, title, sortBy, isMinor, isNumber }, sort, onSort }: { column: Column<T> } & TableProps<T>) {
  const isSorted = sortBy !== undefined && sort?.by === sortBy;
  const direction = sort?.isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={classOf({ id, isMinor, isNumber })} aria-sort={isSorted ? direction : undefined}>
      {sortBy && onSort ? (
        <button type="button" onClick={() => onSort({ by: sortBy, isDescending: isSorted && !sort?.isDescending })}>
          {twoLines(title)}
          {isSorted && <Icon of={sort?.isDescending ? ArrowDown : ArrowUp} size={14} />}
        </button>
      ) : (
        <span class="title">{twoLines(title)}</span>
      )}
    </th>
  );
}

/** Leaves the space nearest to the middle of a title as its only place to break. */
function twoLines(title: string): string {
  const words = title.split(' ');
  if (words.length < 3) return title;
  const lengthOf = (those: readonly string[]) => those.join(' ').length;
  const longest = (at: number) => Math.max(lengthOf(words.slice(0, at)), lengthOf(words.slice(at)));
  const best = words
    .map((_word, at) => at)
    .slice(1)
    .reduce((found, at) => (longest(at) < longest(found) ? at : found));
  return [words.slice(0, best), words.slice(best)].map((line) => line.join('\u00a0')).join(' ');
}

const Spacer = ({ height, width }: { height: number; width: number }) => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
  <tr aria-hidden="true" class="spacer">
    <td colSpan={width} style={{ height: `${height}px` }} />
  </tr>
);

interface CheckProps {
  label: string;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}

const Check = ({ label, isChecked, onChange }: CheckProps) => (
  <label class="target">
    <input type="checkbox" aria-label={label} checked={isChecked} onChange={(event) => onChange(event.currentTarget.checked)} />
  </label>
);
