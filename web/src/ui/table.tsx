/** A table of any length, of which the rows in sight and a few beside them are in the page. */
import { useSignal } from '@preact/signals';
import { ArrowDown, ArrowUp } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { scrollOfVisit } from '../app/router';
import { density } from '../app/theme';
import { t } from '../text/text';
import { Icon } from './icon';

export interface Column<T> {
  id: string;
  title: string;
  /** The name by which the service sorts. */
  sortBy?: string;
  /** Left out where there is little room. */
  isMinor?: boolean;
  cell: (row: T) => ComponentChildren;
}

export interface Sort {
  by: string;
  isDescending: boolean;
}

interface TableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  total: number;
  row: (index: number) => T | undefined;
  idOf: (row: T) => string;
  /** What a row is called by who hears it. */
  nameOf: (row: T) => string;
  onRange?: (first: number, last: number) => void;
  sort?: Sort;
  onSort?: (sort: Sort) => void;
  selected?: ReadonlySet<string>;
  onSelect?: (rows: readonly T[], isSelected: boolean) => void;
  /** What it was before something went wrong: greyed. */
  isOld?: boolean;
}

/** Rows beyond the edges, so that a turn of the wheel shows no gap. */
const beyond = 12;

export function Table<T>(props: TableProps<T>) {
  const { label, columns, total, row, idOf, nameOf, onRange, selected, onSelect, isOld } = props;
  const place = useRef<HTMLDivElement>(null);
  const range = useSignal({ first: 0, last: 40 });
  const height = useSignal(36);

  function look(): void {
    const host = place.current;
    if (!host) return;
    height.value = Number.parseFloat(getComputedStyle(host).getPropertyValue('--row')) || 36;
    const first = Math.max(0, Math.floor(host.scrollTop / height.value) - beyond);
    const last = Math.min(total, Math.ceil((host.scrollTop + host.clientHeight) / height.value) + beyond);
    if (first !== range.value.first || last !== range.value.last) range.value = { first, last };
  }
  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, [total, density.value]);
  useEffect(() => {
    if (total > 0 && place.current) place.current.scrollTop = scrollOfVisit();
  }, [total > 0]);
  const { first, last } = range.value;
  const end = Math.min(last, total);
  useEffect(() => onRange?.(first, Math.max(first, end - 1)), [first, end]);

  const indexes = Array.from({ length: Math.max(0, end - first) }, (_, offset) => first + offset);
  const width = columns.length + (onSelect ? 1 : 0);
  const shown = indexes.map(row).filter((found) => found !== undefined);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1)
    <section class={`table ${isOld ? 'old' : ''}`} ref={place} onScroll={look} data-scroll aria-label={label} tabIndex={0}>
      <table aria-rowcount={total + 1}>
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
        <tbody>
          {first > 0 && <Spacer height={first * height.value} width={width} />}
          {indexes.map((index) => {
            const found = row(index);
            return (
              <tr key={found ? idOf(found) : index} aria-rowindex={index + 2} class={found && selected?.has(idOf(found)) ? 'selected' : ''}>
                {onSelect && (
                  <td class="check">
                    {found && (
                      <Check
                        label={t('table.select', { name: nameOf(found) })}
                        isChecked={selected?.has(idOf(found)) === true}
                        onChange={(isChecked) => onSelect([found], isChecked)}
                      />
                    )}
                  </td>
                )}
                {columns.map(({ id, isMinor, cell, title }) => {
                  const content = found ? cell(found) : <span class="waiting" />;
                  // What is cut short keeps its beginning, whichever way it is written.
                  const direction = typeof content === 'string' ? 'auto' : undefined;
                  return (
                    <td key={id} class={`c-${id} ${isMinor ? 'minor' : ''}`} data-title={title} dir={direction}>
                      {content}
                    </td>
                  );
                })}
              </tr>
            );
          })}
          {end < total && <Spacer height={(total - end) * height.value} width={width} />}
        </tbody>
      </table>
    </section>
  );
}

function Head<T>({ column: { id, title, sortBy, isMinor }, sort, onSort }: { column: Column<T> } & TableProps<T>) {
  const isSorted = sortBy !== undefined && sort?.by === sortBy;
  const direction = sort?.isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={`c-${id} ${isMinor ? 'minor' : ''}`} aria-sort={isSorted ? direction : undefined}>
      {sortBy && onSort ? (
        <button type="button" onClick={() => onSort({ by: sortBy, isDescending: isSorted && !sort?.isDescending })}>
          {title}
          {isSorted && <Icon of={sort?.isDescending ? ArrowDown : ArrowUp} size={14} />}
        </button>
      ) : (
        title
      )}
    </th>
  );
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
