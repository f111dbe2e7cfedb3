import type { ComponentChildren } from 'preact';

interface PlainColumn<T> {
  title: string;
  /** Numbers, amounts and ages stand below each other. */
  isNumber?: boolean | undefined;
  cell: (row: T) => ComponentChildren;
}

interface PlainTableProps<T> {
  label: string;
  columns: readonly PlainColumn<T>[];
  rows: readonly T[];
  idOf: (row: T) => string;
}

/** A table that is shown whole. On a phone each cell stands below its title. */
export function PlainTable<T>({ label, columns, rows, idOf }: PlainTableProps<T>) {
  return (
    <div class="plain">
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }, index) =>
              title === '' ? (
                <td key={index} />
              ) : (
                <th key={title} scope="col" class={isNumber ? 'num' : undefined}>
                  {title}
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
    </div>
  );
}
