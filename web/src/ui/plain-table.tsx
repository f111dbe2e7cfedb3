import type { ComponentChildren } from 'preact';

interface PlainColumn<T> {
  title: string;
  /** Control in place of the title, such as a button that sorts. */
  head?: ComponentChildren;
  /** Order of the rows by this column. */
  order?: 'ascending' | 'descending' | undefined;
  /** Numbers, amounts and ages stand below each other. */
  isNumber?: boolean | undefined;
  cell: (row: T) => ComponentChildren;
}

interface PlainTableProps<T> {
  label: string;
  columns: readonly PlainColumn<T>[];
  rows: readonly T[];
  idOf: (row: T) => string;
  /** Has a limited height, and scrolls beyond it. */
  isScrolled?: boolean;
}

/** A table that is shown whole. On a phone each cell stands below its title. */
export function PlainTable<T>({ label, columns, rows, idOf, isScrolled = false }: PlainTableProps<T>) {
  const table = (
    <table aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, isNumber, head = title, order }, index) =>
            title === '' ? (
              <td key={index} />
            ) : (
              <th key={title} scope="col" class={isNumber ? 'num' : undefined} aria-sort={order}>
                {head}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={idOf(row)}>
            {columns.map(({ title, isNumber, cell }, index) => (
              <td key={title || index} data-title={title} class={isNumber ? 'num' : undefined}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
  return isScrolled ? (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1)
    <section class="plain scrolled" aria-label={label} tabIndex={0}>
      {table}
    </section>
  ) : (
    <div class="plain">{table}</div>
  );
}
