/** Prints figures of the source of one checkout: `npm run structure`. */
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
    ts.forEachChild(node, visit);
  };
  visit(source);
  return measured;
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
const own = files.filter(({ path }) => path.startsWith('src/'));
console.log(`files in src         ${String(own.length).padStart(6)}, ${own.filter(({ lines }) => lines <= 30).length} of at most 30 lines`);
console.log(`longest function     ${longest?.longest.lines} lines: ${longest?.longest.name} in ${longest?.path}`);
const found = cycles();
console.log(`import cycles        ${String(found.length).padStart(6)}${found.map((group) => `\n  ${group.join(' ')}`).join('')}`);
