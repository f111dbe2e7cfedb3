import type { ComponentChildren } from 'preact';

interface PlainColumn<T> {
  title: string;
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
            {columns.map(({ title }, index) =>
              title === '' ? (
                <td key={index} />
              ) : (
                <th key={title} scope="col">
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={idOf(row)}>
              {columns.map(({ title, cell }, index) => (
                <td key={title || index} data-title={title}>
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
