/** Mistakes of a manifest by the schema of its kind, with their places in the text. Status is skipped: the cluster writes it. */
import { isMap, isPair, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { isEither, memberOf, type Resolve, resolved, type Schema, type Schemas } from '../api/schema-fields.ts';

/** Steps of a path: names of members, and indexes of items. */
export type Path = readonly (string | number)[];

interface At {
  from: number;
  to: number;
  path: Path;
}

/** `value` is as it was written. */
type Mistake =
  | { what: 'quote'; value: string }
  | { what: 'type'; wanted: string }
  | { what: 'value'; values: readonly unknown[] }
  | { what: 'unknown'; near: string | undefined }
  | { what: 'missing' };

/** Member that the schema refuses. */
export type Finding = At & Mistake;

/** Bound of the findings of a text. */
const mostFindings = 100;

/** Returns what the schema refuses in a document. */
export function findingsIn(document: { contents: unknown }, { root, resolve }: Schemas): Finding[] {
  const check = new SchemaCheck(resolve);
  if (isMap(document.contents)) check.value(root, document.contents, []);
  return check.findings.sort((a, b) => a.from - b.from);
}

class SchemaCheck {
  readonly findings: Finding[] = [];
  readonly #resolve: Resolve;

  constructor(resolve: Resolve) {
    this.#resolve = resolve;
  }

  value(schema: Schema | undefined, node: unknown, path: Path): void {
    if (this.findings.length >= mostFindings || schema === undefined) return;
    const found = resolved(schema, this.#resolve);
    if (isMap(node)) this.#map(found, node, path);
    else if (isSeq(node) && (found.type === undefined || found.type === 'array'))
      for (const [index, item] of node.items.entries()) this.value(found.items, item, [...path, index]);
    else if (isSeq(node)) this.#wrongType(found, node, path);
    else if (isScalar(node) && node.value !== null) this.#scalar(found, node, path);
  }

  #map(schema: Schema, node: YAMLMap, path: Path): void {
    if (isEither(schema) || (schema.type !== undefined && schema.type !== 'object')) {
      this.#wrongType(schema, node, path);
      return;
    }
    const isClosed = Object.keys(schema.properties ?? {}).length > 0 && !schema.additionalProperties && !isOpen(schema);
    for (const pair of node.items) {
      const name = nameOf(pair);
      if (name === undefined || name === '<<' || (path.length === 0 && name === 'status')) continue;
      const member = memberOf(schema, name);
      if (member !== undefined) this.value(member, pair.value, [...path, name]);
      else if (isClosed)
        this.#add(pair.key, [...path, name], { what: 'unknown', near: nearest(name, Object.keys(schema.properties ?? {})) });
    }
    for (const name of schema.required ?? [])
      if (!isFilledIn(schema.properties?.[name]) && !node.items.some((pair) => [name, '<<'].includes(nameOf(pair) ?? '')))
        this.#missing(node, [...path, name]);
  }

  #scalar(schema: Schema, node: Node & { value: unknown; source?: string }, path: Path): void {
    const { value } = node;
    const types = schema.type === undefined ? [] : [schema.type];
    if (isEither(schema) ? typeof value === 'boolean' : !types.every((type) => isOfType(value, type))) {
      if (schema.type === 'string') this.#add(node, path, { what: 'quote', value: node.source ?? String(value) });
      else this.#wrongType(schema, node, path);
    } else if (schema.enum !== undefined && value !== '' && !schema.enum.includes(value))
      this.#add(node, path, { what: 'value', values: schema.enum });
  }

  #wrongType(schema: Schema, node: unknown, path: Path): void {
    this.#add(node, path, { what: 'type', wanted: isEither(schema) ? 'either' : (schema.type ?? 'object') });
  }

  /** A missing member is marked at the first name of the mapping that lacks it. */
  #missing(node: YAMLMap, path: Path): void {
    const [first] = node.items;
    this.#add(isPair(first) ? first.key : node, path, { what: 'missing' });
  }

  #add(node: unknown, path: Path, mistake: Mistake): void {
    if (this.findings.length >= mostFindings) return;
    const [from, to] = rangeOf(node);
    this.findings.push({ from, to, path, ...mistake });
  }
}

/** The API server fills in defaults. Empty ones are those of Go, which are no value. */
const isFilledIn = ({ default: preset }: Schema = {}): boolean =>
  typeof preset === 'object' ? Object.keys(preset ?? {}).length > 0 : preset !== undefined && preset !== '' && preset !== 0;

const isOpen = (schema: Schema): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true;

function isOfType(value: unknown, type: string): boolean {
  if (type === 'integer') return typeof value === 'bigint' || Number.isInteger(value);
  if (type === 'number') return typeof value === 'bigint' || typeof value === 'number';
  return typeof value === type;
}

/** Returns the name of a member. JSON has texts alone. */
function nameOf({ key }: Pair<unknown>): string | undefined {
  if (typeof key === 'string') return key;
  return isScalar(key) ? (key.source ?? String(key.value)) : undefined;
}

function rangeOf(node: unknown): readonly [from: number, to: number] {
  const { range } = (node ?? {}) as { range?: readonly number[] };
  const [from = 0, to = from] = range ?? [];
  return [from, Math.max(to, from + 1)];
}

/** Returns the name that a misspelt one is closest to, at two changes of a letter or fewer. */
const nearest = (given: string, names: readonly string[]): string | undefined =>
  names
    .map((name) => [distance(given.toLowerCase(), name.toLowerCase()), name] as const)
    .filter(([changes]) => changes <= 2)
    .sort(([a], [b]) => a - b)[0]?.[1];

/** Counts letters to add, remove or replace (Levenshtein). */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...a].entries()) {
    const next = [index + 1];
    for (let at = 0; at < b.length; at += 1)
      next.push(Math.min((row[at] ?? 0) + (letter === b[at] ? 0 : 1), (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Returns the place of a member, or of the nearest one around it that the text has. A path of Go has no indexes, but names of structs. */
export function placeOf(contents: unknown, path: Path): readonly [from: number, to: number] {
  let [place, node]: [readonly [number, number], unknown] = [rangeOf(firstName(contents)), contents];
  for (const step of path) {
    if (isSeq(node) && typeof step === 'number') {
      node = node.items[step];
      if (node === undefined) break;
      place = rangeOf(firstName(node));
      continue;
    }
    const pair = (isSeq(node) ? node.items : [node]).map((one) => memberNamed(one, step)).find((one) => one !== undefined);
    if (pair !== undefined) [place, node] = [rangeOf(pair.key), pair.value];
    else if (!/^[A-Z]/.test(String(step))) break;
  }
  return place;
}

const memberNamed = (node: unknown, name: string | number): Pair<unknown> | undefined =>
  isMap(node) ? node.items.find((one) => nameOf(one) === name) : undefined;

const firstName = (node: unknown): unknown => (isMap(node) ? (node.items[0]?.key ?? node) : node);

/** Reads a path of the API server: `spec.containers[0].name`, `data[tls.crt]`, `metadata.labels`. */
export function pathIn(field: string): Path {
  return [...field.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)].map(([, name, key = '']) => name ?? (/^\d+$/.test(key) ? Number(key) : key));
}
