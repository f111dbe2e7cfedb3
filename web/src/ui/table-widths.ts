/**
 * Widths of the columns of a long table: as wide as their contents. A column never becomes narrower, so that nothing moves while rows
 * scroll by.
 */
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { density } from '../app/theme';

/** Fits a message of 250 characters. A longer text is cut: it would push all other columns out of sight. */
const widest = 2000;
/** Room for digits that a number gains while it is shown. */
const spare = 6;

/** Narrower screens show some of the columns only. */
const wide = matchMedia('(min-width: 1024px)');

/** Fits the columns to the rows in the page after each change of them. @param ids of the columns */
export function useColumnWidths(place: RefObject<HTMLElement | null>, ids: readonly string[]): void {
  const known = useRef<{ of: string; widths: readonly number[] }>({ of: '', widths: [] });
  const of = [...ids, density.value].join();
  useLayoutEffect(() => {
    const table = place.current?.querySelector('table');
    if (!table) return;
    if (known.current.of !== of) known.current = { of, widths: [] };
    if (wide.matches) known.current.widths = natural(table).map((width, index) => Math.max(width, known.current.widths[index] ?? 0));
    setWidths(table, known.current.widths);
  });
  useLayoutEffect(() => {
    const host = place.current;
    if (!host) return;
    const observer = new ResizeObserver(() => {
      const table = host.querySelector('table');
      if (table) setWidths(table, known.current.widths);
    });
    observer.observe(host);
    return () => observer.disconnect();
  }, []);
}

function natural(table: HTMLTableElement): number[] {
  for (const column of table.querySelectorAll('col')) column.style.inlineSize = '';
  table.style.inlineSize = '';
  table.classList.add('measured');
  const widths = [...table.querySelectorAll<HTMLElement>('thead th')].map((head) =>
    head.classList.contains('check') ? head.offsetWidth : Math.min(widest, Math.ceil(head.getBoundingClientRect().width) + spare),
  );
  table.classList.remove('measured');
  return widths;
}

/** Distributes the remaining width among the columns, in proportion to their widths. A table that does not fit is scrolled. */
function setWidths(table: HTMLTableElement, widths: readonly number[]): void {
  const columns = [...table.querySelectorAll<HTMLElement>('col')];
  const isFit = wide.matches && widths.length === columns.length;
  const isGrown = (index: number) => !columns[index]?.classList.contains('check');
  const [sum, growing] = [
    widths.reduce((all, width) => all + width, 0),
    widths.reduce((all, width, index) => all + (isGrown(index) ? width : 0), 0),
  ];
  const left = Math.max(0, (table.parentElement ? inner(table.parentElement) : 0) - sum);
  for (const [index, column] of columns.entries()) {
    const width = widths[index] ?? 0;
    column.style.inlineSize = isFit ? `${width + (isGrown(index) ? (left * width) / growing : 0)}px` : '';
  }
  table.style.inlineSize = isFit && left === 0 ? `${sum}px` : '';
}

function inner(host: HTMLElement): number {
  const { paddingInlineStart, paddingInlineEnd } = getComputedStyle(host);
  return host.clientWidth - Number.parseFloat(paddingInlineStart) - Number.parseFloat(paddingInlineEnd);
}
