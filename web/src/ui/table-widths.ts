/**
 * Widths of the columns of a long table: as wide as their contents. A column never becomes narrower, so that nothing moves while rows
 * scroll by.
 */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { density } from '../app/theme';
import { addStyles } from './add-styles';
import { columnsThatFit, type FittedColumn, fittedWidths, sum } from './column-fit';
import styles from './table-widths.css?inline';

addStyles(styles);

/** Fits a message of 250 characters. A longer text is cut: it would push all other columns out of sight. */
const widest = 2000;
/** Room for digits that a number gains while it is shown. */
const spare = 6;

/** Narrower screens show some of the columns only. */
const wide = matchMedia('(min-width: 1024px)');

type WidthColumn = Omit<FittedColumn, 'width'>;

interface WidthOptions {
  columns: readonly WidthColumn[];
  /** A table that does not fit is scrolled, and no column is hidden. */
  isWhole: boolean;
}

/** Fits the columns to the rows in the page after each change of them. @returns ids of the columns that are hidden for lack of room */
export function useColumnWidths(place: RefObject<HTMLElement | null>, options: WidthOptions): readonly string[] {
  const hidden = useSignal<readonly string[]>([]);
  const known = useRef(noWidths(''));
  const current = useRef(options);
  current.current = options;

  function measure(table: HTMLTableElement): void {
    const { columns } = current.current;
    const of = [...columns.map(({ id }) => id), density.value].join();
    if (known.current.of !== of) known.current = noWidths(of);
    if (!wide.matches) return;
    keep(known.current.widths, natural(table, 'measured'));
  }
  function keep(widths: Map<string, number>, found: readonly number[]): void {
    const rendered = current.current.columns.filter(({ id }) => !hidden.peek().includes(id));
    for (const [index, width] of found.entries()) {
      const id = rendered[index]?.id ?? '';
      widths.set(id, Math.max(width, widths.get(id) ?? 0));
    }
  }
  function arrange(table: HTMLTableElement, host: HTMLElement): void {
    const { columns, isWhole } = current.current;
    const { widths, folded } = known.current;
    const withWidths = (of: ReadonlyMap<string, number>) =>
      columns.map((column) => ({ ...column, width: of.get(column.id) ?? widths.get(column.id) ?? 0 }));
    const isFolded = wide.matches && !isWhole && columnsThatFit(withWidths(widths), inner(host)).length < columns.length;
    if (isFolded) keep(folded, natural(table, 'measured folded'));
    const all = withWidths(isFolded ? folded : widths);
    const fitting = isFolded ? columnsThatFit(all, inner(host)) : all;
    table.classList.toggle('folded', isFolded);
    const left = all.filter((column) => !fitting.includes(column)).map(({ id }) => id);
    // Other columns are rendered first, and measured then.
    if (left.join() === hidden.peek().join()) setWidths(table, fitting, { room: inner(host), isWhole });
    else hidden.value = left;
  }
  useLayoutEffect(() => {
    const [host, table] = [place.current, place.current?.querySelector('table')];
    if (!host || !table) return;
    measure(table);
    arrange(table, host);
  });
  useLayoutEffect(() => {
    const host = place.current;
    if (!host) return;
    const observer = new ResizeObserver(() => {
      const table = host.querySelector('table');
      if (table) arrange(table, host);
    });
    observer.observe(host);
    return () => observer.disconnect();
  }, []);
  return hidden.value;
}

/** Widths by the id of a column, with titles of one line, and of two. */
const noWidths = (of: string) => ({ of, widths: new Map<string, number>(), folded: new Map<string, number>() });

/** @returns widths of the rendered columns */
function natural(table: HTMLTableElement, classes: 'measured' | 'measured folded'): number[] {
  for (const column of table.querySelectorAll('col')) column.style.inlineSize = '';
  table.style.inlineSize = '';
  const { className } = table;
  table.className = classes;
  const widths = [...table.querySelectorAll<HTMLElement>('thead th')].map((head) =>
    head.classList.contains('check') ? head.offsetWidth : Math.min(widest, Math.ceil(head.getBoundingClientRect().width) + spare),
  );
  table.className = className;
  return widths;
}

/** A table that does not fit is scrolled. */
function setWidths(table: HTMLTableElement, columns: readonly FittedColumn[], { room, isWhole }: { room: number; isWhole: boolean }): void {
  const places = [...table.querySelectorAll<HTMLElement>('col')];
  const isFit = wide.matches && columns.length === places.length;
  const widths = isFit ? fittedWidths(columns, isWhole ? Math.max(room, sum(columns.map(({ width }) => width))) : room) : [];
  for (const [index, column] of places.entries()) column.style.inlineSize = isFit ? `${widths[index] ?? 0}px` : '';
  table.style.inlineSize = sum(widths) > room + 1 ? `${sum(widths)}px` : '';
}

function inner(host: HTMLElement): number {
  const { paddingInlineStart, paddingInlineEnd } = getComputedStyle(host);
  return host.clientWidth - Number.parseFloat(paddingInlineStart) - Number.parseFloat(paddingInlineEnd);
}
