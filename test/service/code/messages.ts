import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { type CallExpression, type NewExpression, type Node, type ObjectProperty, parseSync, visitorKeys } from 'oxc-parser';

/** A text of at least three words that a user, an operator or a reader of the tests sees. Expressions of a template are `x`. */
export interface Message {
  text: string;
  /** Path and line, or path and key of a text pack. */
  place: string;
  use: 'log' | 'message' | 'subject' | 'title';
}

type Parent = CallExpression | NewExpression | ObjectProperty;

const isParent = (node: Node): node is Parent =>
  node.type === 'CallExpression' || node.type === 'NewExpression' || (node.type === 'Property' && 'kind' in node && node.kind === 'init');

/** Returns the text of a literal, of a template or of a sum with one of them. */
function textOf(node: Node): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  if (node.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked ?? value.raw).join('x');
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return undefined;
  const parts = [node.left, node.right].map(textOf);
  return parts.every((part) => part === undefined) ? undefined : parts.map((part) => part ?? 'x').join('');
}

/** Holds for text that begins with a word and has three. */
const isSentence = (text: string) => /^["'`(]?[A-Za-z]/.test(text) && /[a-z]+[,:;]? \S*\w\S* \S*\w/.test(text);

/** Returns the name of a function, constructor or property, after the name of its object. */
function nameOf(node: Node): string {
  if (node.type === 'CallExpression' || node.type === 'NewExpression') return nameOf(node.callee);
  if (node.type === 'Property') return nameOf(node.key);
  if (node.type === 'MemberExpression') return `${nameOf(node.object)}.${nameOf(node.property)}`;
  return node.type === 'Identifier' || node.type === 'PrivateIdentifier' ? node.name : String(textOf(node) ?? '');
}

/** Descriptions have tests of their own. Headers, patterns, lists of words and the answers of examples are not sentences. */
const notRead = /(?:^|\.)(?:description|summary|describe|example|regex|split|each|[A-Z][a-z]*-[A-Z]\S*|ETag|Link|Location)$/;
const isLog = /(?:^|\.)#?log\.(?:debug|info|warn|error)$/;
const isTitle = /^(?:describe|it)$/;

interface Text {
  text: string;
  start: number;
  /** Names of the calls and properties around, the nearest first; an empty name is a template. */
  around: string[];
}

function* textsOf(node: Node, around: string[]): Generator<Text> {
  const text = textOf(node);
  if (text !== undefined) yield { text, start: node.start, around };
  if (/^(?:TS|Import|Export(?:All|Specifier))/.test(node.type) && !/^TS(?:As|Satisfies|NonNull)/.test(node.type)) return;
  if (node.type === 'BinaryExpression' && text !== undefined) return;
  const isFunction = node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression';
  const inside = isFunction ? [] : isParent(node) ? [nameOf(node), ...around] : node.type === 'TemplateLiteral' ? ['', ...around] : around;
  const children = Object.entries(node).filter(([key]) => visitorKeys[node.type]?.includes(key));
  for (const child of children.flatMap(([, value]) => value as Node | null | (Node | null)[])) if (child) yield* textsOf(child, inside);
}

const sourcesOf = (pattern: string) =>
  globSync(pattern, { exclude: (name) => name.includes('node_modules') })
    .filter((file) => !file.endsWith('.d.ts'))
    .sort();

function ofFile(file: string): (Text & { place: string })[] {
  const code = readFileSync(file, 'utf8');
  return [...textsOf(parseSync(file, code).program, [])].map((found) => ({
    ...found,
    place: `${file}:${code.slice(0, found.start).split('\n').length}`,
  }));
}

/** Returns the messages of service, command lines and embedded cluster, from literals and templates in any position. */
export const messagesOfSources = (): Message[] =>
  sourcesOf('{src,packages/*/src}/**/*.ts')
    .flatMap(ofFile)
    .filter(({ text, around }) => isSentence(text) && !around.some((name) => notRead.test(name)))
    .map(({ text, place, around }) => ({ text, place, use: around.some((name) => isLog.test(name)) ? 'log' : 'message' }));

/** Returns the English texts of the console, of login pages and of mails. */
export const messagesOfPacks = (): Message[] =>
  ['src/texts/en.json', 'web/src/text/en.json'].flatMap((file) =>
    Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>)
      .filter(([, text]) => isSentence(text))
      .map(([key, text]) => ({ text: text.replaceAll(/\{\{\w+\}\}/g, 'x'), place: `${file}: ${key}`, use: 'message' })),
  );

/** Returns the titles of tests, and the subjects that `describe` gives them. */
export const titles = (): Message[] =>
  sourcesOf('{test,packages/*/test}/**/*.ts')
    .flatMap(ofFile)
    .filter(({ around: [nearest = ''] }) => isTitle.test(nearest))
    .map(({ text, place, around: [nearest] }) => ({ text, place, use: nearest === 'it' ? 'title' : 'subject' }));

/** Returns messages drawn by a seed. The place of a message in its file decides, so that a rewritten message is drawn again. */
export function sampleOf(messages: Message[], seed: string, size: number): Message[] {
  const counts = new Map<string, number>();
  const ranked = messages.map((message) => {
    const file = message.place.replace(/:\d+$/, '');
    const position = (counts.get(file) ?? 0) + 1;
    counts.set(file, position);
    return { message, rank: createHash('sha256').update(`${seed} ${file} ${position}`).digest('hex') };
  });
  return ranked
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, size)
    .map(({ message }) => message);
}
