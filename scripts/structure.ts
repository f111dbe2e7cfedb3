/** Prints figures of the source: `npm run structure`. They are of one checkout, to be compared with those of another. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript-5';

interface Measured {
  path: string;
  room: string;
  lines: number;
  imports: string[];
  longest: { name: string; lines: number };
}

const counts = {
  'option interfaces': 0,
  'spreads of options': 0,
  'calls of isRecord': 0,
  'calls of resourcePath': 0,
  'casts of contexts': 0,
};
type Count = keyof typeof counts;

const files = globSync('{src,packages/*/src}/**/*.ts').toSorted().map(measure);
const byPath = new Map(files.map((file) => [file.path, file]));

function measure(path: string): Measured {
  const text = readFileSync(path, 'utf8');
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const measured: Measured = {
    path,
    room: path.split('/')[1] ?? '',
    lines: text.split('\n').length - 1,
    imports: [],
    longest: { name: '', lines: 0 },
  };
  const visit = (node: ts.Node): void => {
    const target = (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier;
    if (target && ts.isStringLiteral(target) && target.text.startsWith('.')) measured.imports.push(join(dirname(path), target.text));
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const lines = lineOf(node.end) - lineOf(node.getStart()) + 1;
      if (lines > measured.longest.lines) measured.longest = { name: node.name?.getText() ?? 'a function', lines };
    }
    for (const name of countedAs(node)) counts[name] += 1;
    ts.forEachChild(node, visit);
  };
  visit(source);
  return measured;
}

function countedAs(node: ts.Node): Count[] {
  if (ts.isInterfaceDeclaration(node)) return /(Options|Parts)$/.test(node.name.text) ? ['option interfaces'] : [];
  if (ts.isSpreadAssignment(node)) return /(options|parts|base|shared)$/i.test(node.expression.getText()) ? ['spreads of options'] : [];
  if (ts.isAsExpression(node) && node.type.getText() !== 'const')
    return /\bctx\b/.test(node.expression.getText()) ? ['casts of contexts'] : [];
  if (!ts.isCallExpression(node)) return [];
  const called = node.expression.getText();
  if (called === 'isRecord') return ['calls of isRecord'];
  return called === 'resourcePath' ? ['calls of resourcePath'] : [];
}

/** All files that a file imports, and those that they import. */
function reached(from: string, found = new Set<string>()): Set<string> {
  for (const next of byPath.get(from)?.imports ?? []) {
    if (found.has(next) || !byPath.has(next)) continue;
    found.add(next);
    reached(next, found);
  }
  return found;
}

/** Groups of files that import each other. */
function cycles(): string[][] {
  const reachable = new Map(files.map(({ path }) => [path, reached(path)]));
  const groups = files.map(({ path }) => [...(reachable.get(path) ?? [])].filter((other) => reachable.get(other)?.has(path)).toSorted());
  return groups.filter((group, place) => group.length > 0 && groups.findIndex((other) => other[0] === group[0]) === place);
}

const sum = (some: readonly Measured[]) => some.reduce((total, { lines }) => total + lines, 0);
const rooms = Map.groupBy(files, ({ room }) => room);
const embedded = files.filter(({ room }) => room === 'embedded-cluster' || room === 'demo');
const plugin = files.filter(({ room }) => room === 'kubectl-atrium');
const longest = files.toSorted((a, b) => b.longest.lines - a.longest.lines)[0];
const largest = files.toSorted((a, b) => b.lines - a.lines)[0];

for (const [room, inside] of rooms)
  console.log(`${room.padEnd(20)} ${String(sum(inside)).padStart(6)} lines ${String(inside.length).padStart(4)} files`);
console.log(`service              ${String(sum(files) - sum(embedded) - sum(plugin)).padStart(6)} lines`);
console.log(`cluster and demo     ${String(sum(embedded)).padStart(6)} lines`);
console.log(`largest file         ${largest?.lines} lines: ${largest?.path}`);
console.log(`files under 12 lines ${files.filter(({ lines }) => lines < 12).length}`);
console.log(`longest function     ${longest?.longest.lines} lines: ${longest?.longest.name} in ${longest?.path}`);
for (const [name, count] of Object.entries(counts)) console.log(`${name.padEnd(20)} ${String(count).padStart(6)}`);
const found = cycles();
console.log(`import cycles        ${String(found.length).padStart(6)}${found.map((group) => `\n  ${group.join(' ')}`).join('')}`);
