import { harmless } from './terminal.ts';

/** Returns lines with aligned columns. */
export function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(harmless));
  const widths = (cells[0] ?? []).map((_cell, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('');
}
