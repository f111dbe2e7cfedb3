/** Prints figures of the source of one checkout: `npm run structure`. */
import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript-5';
import { flatFiles, longFunctions, maxFlatFiles, maxFunctionLines } from './console-structure.ts';
import { functionsOf, type MeasuredFunction, sourceOf } from './functions.ts';

interface Measured {
  path: string;
  room: string;
  lines: number;
  imports: string[];
  longest: MeasuredFunction | undefined;
}

const files = globSync('{src,packages/*/src}/**/*.ts').toSorted().map(measure);
const byPath = new Map(files.map((file) => [file.path, file]));

function measure(path: string): Measured {
  const source = sourceOf(path);
  const targets = source.statements.flatMap((statement) => {
    const target = (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) && statement.moduleSpecifier;
    return target && ts.isStringLiteral(target) && target.text.startsWith('.') ? [target.text] : [];
  });
  return {
    path,
    room: path.split('/')[1] ?? '',
    lines: source.text.split('\n').length - 1,
    imports: targets.map((target) => join(dirname(path), target)),
    longest: longestOf(functionsOf(source)),
  };
}

function longestOf(functions: readonly MeasuredFunction[]): MeasuredFunction | undefined {
  return functions.toSorted((a, b) => b.lines - a.lines)[0];
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
const longest = longestOf(files.flatMap((file) => file.longest ?? []));
const largest = files.toSorted((a, b) => b.lines - a.lines)[0];

for (const [room, inside] of rooms)
  console.log(`${room.padEnd(20)} ${String(sum(inside)).padStart(6)} lines ${String(inside.length).padStart(4)} files`);
console.log(`service              ${String(sum(files) - sum(embedded) - sum(plugin)).padStart(6)} lines`);
console.log(`cluster and demo     ${String(sum(embedded)).padStart(6)} lines`);
console.log(`largest file         ${largest?.lines} lines: ${largest?.path}`);
const own = files.filter(({ path }) => path.startsWith('src/'));
console.log(`files in src         ${String(own.length).padStart(6)}, ${own.filter(({ lines }) => lines <= 30).length} of at most 30 lines`);
console.log(`longest function     ${longest?.lines} lines: ${longest?.name} in ${longest?.path}`);
const found = cycles();
console.log(`import cycles        ${String(found.length).padStart(6)}${found.map((group) => `\n  ${group.join(' ')}`).join('')}`);
const long = longFunctions();
console.log(`console              ${String(long.length).padStart(6)} functions over ${maxFunctionLines} lines`);
for (const { path, name, lines } of long) console.log(`  ${lines} lines: ${name} in ${path}`);
console.log(`cluster pages        ${String(flatFiles().length).padStart(6)} files flat, of at most ${maxFlatFiles}`);
