/** Recordings of shells as asciicast v2. Text of a container stays text: nothing here makes elements of it. */
import { shownOf } from '../cluster/logs/terminal-line.ts';

export interface CastEvent {
  seconds: number;
  /** `o`: output. `r`: another size, such as `80x24`. `m`: a note of the service. */
  code: string;
  text: string;
}

export interface Cast {
  title: string;
  width: number;
  height: number;
  startedAt: string;
  events: readonly CastEvent[];
  seconds: number;
}

/** @throws Error for a text that is no recording */
export function parseCast(text: string): Cast {
  const [head = '', ...lines] = text.split('\n');
  const { title, width, height, timestamp } = JSON.parse(head) as { title: string; width: number; height: number; timestamp: number };
  const events = lines.flatMap((line) => {
    if (line === '') return [];
    const [seconds, code, given] = JSON.parse(line) as [number, string, string];
    return [{ seconds, code, text: given }];
  });
  const { columns, rows } = shownSize(width, height);
  return {
    title,
    width: columns,
    height: rows,
    startedAt: new Date(timestamp * 1000).toISOString(),
    events,
    seconds: events.at(-1)?.seconds ?? 0,
  };
}

export interface ShownLine {
  seconds: number;
  text: string;
}

/** Returns the lines that were shown, with the time of their begin; notes of the service are lines of their own. */
export function transcriptOf(events: readonly CastEvent[]): ShownLine[] {
  const lines: ShownLine[] = [];
  let line = '';
  let begin: number | undefined;
  const end = () => {
    const text = shownOf(line).trimEnd();
    if (text !== '') lines.push({ seconds: begin ?? 0, text });
    line = '';
    begin = undefined;
  };
  for (const { seconds, code, text } of events) {
    if (code === 'm') {
      end();
      lines.push({ seconds, text });
    }
    if (code !== 'o') continue;
    const [first = '', ...others] = text.split('\n');
    begin ??= seconds;
    line += first;
    for (const other of others) {
      end();
      begin = seconds;
      line = other;
    }
  }
  end();
  return lines;
}

/** Largest size that is shown. Clients may send any: 10,000 columns and rows take more memory than a browser has. */
const [maxColumns, maxRows] = [500, 200];

const shownSize = (columns: number, rows: number) => ({ columns: Math.min(columns, maxColumns), rows: Math.min(rows, maxRows) });

/** Returns a size of the terminal; undefined for a text that is none. */
export function sizeIn(text: string): { columns: number; rows: number } | undefined {
  const [, columns, rows] = /^(\d{1,5})x(\d{1,5})$/.exec(text) ?? [];
  return columns === undefined || rows === undefined ? undefined : shownSize(Number(columns), Number(rows));
}

/** Returns a time in a recording, such as `1:05` or `1:00:05`. */
export function timeIn(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (value: number) => String(value).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}
