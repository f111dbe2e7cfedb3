/**
 * Finds the field at the cursor by the indentation of lines. A parser needs a text without mistakes, and a text that is being typed has
 * some. Flow mappings and block scalars have no fields here.
 */
import { item, type Step } from '../api/schema-fields.ts';

/** Lines of a text from 1, so that an editor need not join them. */
export interface Lines {
  count: number;
  line(number: number): string;
}

export interface Cursor {
  /** The mapping that a name is typed into; of a value, the field that it belongs to. */
  path: readonly Step[];
  at: 'name' | 'value';
  /** Columns of the word at the cursor. */
  from: number;
  to: number;
  /** Names that the mapping has already. */
  present: ReadonlySet<string>;
  /** A colon follows the name. */
  hasColon: boolean;
}

interface Entry {
  /** Columns of the dashes before it. */
  dashes: readonly number[];
  /** Offset of the name or the value. */
  column: number;
  name?: string;
  /** Column behind the colon. */
  end: number;
  value: string;
}

const longestLine = 2000;
const mostLines = 20_000;
const named = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#"'{}[\]&*!|>%@`,][^#]{0,500}?):(?=\s|$)/;
const separator = /^---(?:\s|$)/;
const block = /^[|>][-+\d]*\s*(?:#.*)?$/;

const indentOf = (text: string): number => {
  let at = 0;
  while (text[at] === ' ') at += 1;
  return at;
};

function entryOf(text: string): Entry {
  const dashes: number[] = [];
  let column = indentOf(text);
  while (text[column] === '-' && (text[column + 1] === ' ' || text.length === column + 1)) {
    dashes.push(column);
    column += 1 + indentOf(text.slice(column + 1));
  }
  const [found, word = ''] = named.exec(text.slice(column, longestLine)) ?? [];
  if (found === undefined) return { dashes, column, end: column, value: text.slice(column) };
  const end = column + found.length;
  const name = /^["']/.test(word) ? word.slice(1, -1) : word.trimEnd();
  return { dashes, column, name, end, value: text.slice(end).trim() };
}

const isBlank = (text: string): boolean => /^\s*(?:#|$)/.test(text);

/** Climbs from a column to the fields around it. */
class Climb {
  readonly path: Step[] = [];
  #nameBelow: number;
  #dashBelow: number;

  constructor(column: number) {
    this.#nameBelow = column;
    this.#dashBelow = column;
  }

  get isAtTop(): boolean {
    return this.#nameBelow === 0;
  }

  get nameBelow(): number {
    return this.#nameBelow;
  }

  /** A dash may stand in the column of the name that its list belongs to. */
  dashes(columns: readonly number[]): void {
    for (const column of columns.toReversed()) {
      if (column >= this.#dashBelow) continue;
      this.path.unshift(item);
      [this.#nameBelow, this.#dashBelow] = [column + 1, column];
    }
  }

  /** @returns false inside a block scalar */
  entry({ name, column, value, dashes }: Entry): boolean {
    if (name !== undefined && column < this.#nameBelow) {
      if (block.test(value)) return false;
      this.path.unshift(name);
      [this.#nameBelow, this.#dashBelow] = [column, column];
    } else if (block.test(value) && dashes.some((dash) => dash < this.#dashBelow)) return false;
    this.dashes(dashes);
    return true;
  }
}

/** Climbs over the lines above. @param siblings gets the names in the column where it begins @returns undefined inside a block scalar */
function pathAbove(lines: Lines, from: number, climb: Climb, siblings?: { column: number; names: Set<string> }): Step[] | undefined {
  const depth = climb.path.length;
  let isOwn = true;
  for (let at = from; at >= Math.max(1, from - mostLines) && !climb.isAtTop; at -= 1) {
    const text = lines.line(at);
    if (separator.test(text)) break;
    // Deeper lines are of siblings.
    if (isBlank(text) || indentOf(text) > Math.max(climb.nameBelow, (isOwn && siblings?.column) || 0)) continue;
    const entry = entryOf(text);
    if (isOwn && siblings && entry.name !== undefined && entry.column === siblings.column) siblings.names.add(entry.name);
    if (!climb.entry(entry)) return undefined;
    isOwn &&= climb.path.length === depth;
  }
  return climb.path;
}

/** Climbing ends at column 0, where names stand beside the cursor only. */
function namesAtTop(lines: Lines, from: number, names: Set<string>): void {
  for (let at = from; at >= Math.max(1, from - mostLines); at -= 1) {
    const text = lines.line(at);
    if (separator.test(text)) return;
    const { name, column } = entryOf(/^[^\s#]/.test(text) ? text : '');
    if (name !== undefined && column === 0) names.add(name);
  }
}

function namesBelow(lines: Lines, from: number, column: number, names: Set<string>): void {
  for (let at = from; at <= Math.min(lines.count, from + mostLines); at += 1) {
    const text = lines.line(at);
    if (separator.test(text)) return;
    if (isBlank(text) || indentOf(text) > column) continue;
    const { name, column: own, dashes } = entryOf(text);
    if (dashes.length > 0 || own < column) return;
    if (name !== undefined) names.add(name);
  }
}

/** Returns the place of the cursor in the fields of its object. @param column from 0 */
export function cursorIn(lines: Lines, number: number, column: number): Cursor | undefined {
  const text = lines.line(number);
  const entry = entryOf(isBlank(text) ? text.slice(0, column).trimEnd() : text);
  if (/(?:^|\s)#/.test(text.slice(0, column))) return undefined;
  const isBlankLine = text.trim() === '';
  const start = isBlankLine ? column : entry.column;
  if (column < start || text[start - 1] === '-') return undefined;
  const isValue = entry.name !== undefined && column >= entry.end;
  if (isValue && /^[[{&*!|>]/.test(entry.value)) return undefined;
  const climb = new Climb(start);
  climb.dashes(entry.dashes);
  const names = new Set<string>();
  // A dash before the name begins a mapping: its siblings are below.
  const siblings = entry.dashes.length === 0 ? { column: start, names } : undefined;
  const path = pathAbove(lines, number - 1, climb, siblings);
  if (path === undefined) return undefined;
  if (isValue) {
    const from = entry.end + indentOf(text.slice(entry.end));
    const comment = text.indexOf(' #', entry.end);
    const to = text.slice(0, comment < 0 ? text.length : comment).trimEnd().length;
    return {
      ...{ path: [...path, entry.name ?? ''], at: 'value', present: names, hasColon: true },
      ...{ from: Math.min(from, column), to: Math.max(to, column) },
    };
  }
  if (start === 0) namesAtTop(lines, number - 1, names);
  namesBelow(lines, number + 1, start, names);
  const to = entry.name === undefined ? column : Math.max(column, entry.end - 1);
  return { path, at: 'name', from: start, to, present: names, hasColon: entry.name !== undefined };
}

/** Returns the path of the field that stands on a line. */
export function fieldOn(lines: Lines, number: number): Step[] | undefined {
  const text = lines.line(number);
  const entry = entryOf(text);
  if (isBlank(text)) return undefined;
  const climb = new Climb(entry.column);
  climb.dashes(entry.dashes);
  const path = pathAbove(lines, number - 1, climb);
  return path && (entry.name === undefined ? path : [...path, entry.name]);
}

/** Returns apiVersion and kind of the document around a line, as far as they are typed. */
export function typeAround(lines: Lines, number: number): { apiVersion?: string; kind?: string } {
  let first = number;
  while (first > 1 && number - first < mostLines && !separator.test(lines.line(first))) first -= 1;
  const found: { apiVersion?: string; kind?: string } = {};
  for (let at = first; at <= Math.min(lines.count, first + mostLines); at += 1) {
    const text = lines.line(at);
    if (at > number && separator.test(text)) break;
    const [, member, value] = /^(apiVersion|kind):\s+["']?([\w./-]+)/.exec(text) ?? [];
    if (member !== undefined && value !== undefined) found[member as 'apiVersion' | 'kind'] ??= value;
    if (found.apiVersion !== undefined && found.kind !== undefined) break;
  }
  return found;
}
