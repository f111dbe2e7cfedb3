import { median, type Results, type Row, ratio } from './rows.ts';

const number = (value: number, digits = 0) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

/** Returns a Markdown table: the cost of a request on each server, and the ratio of Atrium's. */
export function table(rows: readonly Row[], results: Results): string {
  const head = ['work', 'done by', 'requests/s', 'CPU µs each', 'p99 ms', "Atrium's CPU to this", "Atrium's rate to this"];
  const lines = rows.flatMap(({ work, contenders }) => {
    const [ours] = contenders;
    return contenders.map((contender, index) => {
      const of = (field: 'perSecond' | 'cpu' | 'p99') => median((results.get(contender) ?? []).map((measure) => measure[field]));
      const against = (field: 'cpu' | 'perSecond') =>
        ours === undefined || index === 0 ? '' : `${number(ratio(results, ours, contender, field), 2)}x`;
      return line([
        index === 0 ? work : '',
        contender.name,
        number(of('perSecond')),
        number(of('cpu')),
        number(of('p99'), 1),
        against('cpu'),
        against('perSecond'),
      ]);
    });
  });
  return [line(head), line(head.map((_, index) => (index < 2 ? '---' : '--:'))), ...lines].join('\n');
}

/** Bound of the ratio to another contender's CPU. */
export interface Aim {
  row: Row;
  /** Name of the other contender. */
  against: string;
  bound: number;
}

export function aimTable(aims: readonly Aim[], results: Results): string {
  const lines = aims.map(({ row, against, bound }) => {
    const [ours] = row.contenders;
    const other = row.contenders.find(({ name }) => name === against);
    if (ours === undefined || other === undefined) return '';
    const value = ratio(results, ours, other, 'cpu');
    return line([row.work, `CPU to ${against}`, `≤ ${number(bound, 2)}x`, `${number(value, 2)}x`, value <= bound ? 'yes' : 'no']);
  });
  return [line(['work', 'what', 'aim', 'measured', 'met']), line(['---', '---', '--:', '--:', '---']), ...lines].join('\n');
}

/** Returns a line for each row: the maximum time for which the event loop of the service was blocked, in any round. */
export function holds(rows: readonly Row[], results: Results): string {
  const lines = rows.flatMap(({ work, contenders: [ours] }) => {
    const held = ours === undefined ? [] : (results.get(ours) ?? []).map(({ heldMs = Number.NaN }) => heldMs);
    return [`- ${work}: the event loop was held for ${number(Math.max(...held), 1)} ms at most`];
  });
  return lines.join('\n');
}
