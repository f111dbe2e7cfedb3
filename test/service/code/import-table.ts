import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Rooms that a room may import, beside itself. `types` are imported as types only. Rooms are in the order of their layers, top first. */
export type ImportTable = Readonly<Record<string, { values: readonly string[]; types?: readonly string[] }>>;

interface Import {
  target: string;
  /** Path from the root of the repository. */
  path: string;
  isType: boolean;
}

/**
 * Matches imports by a path or by the name of a package of the repository. `import()` is ignored, because it does not run with the module.
 */
const importLine = /^(?:import|export)(?:(\s+type)?\s[^;'"]*?\sfrom)?\s+'((?:\.|@atrium\/|kubectl-atrium\/)[^']+)'/gm;

const pathOf = (file: string, target: string): string =>
  target.startsWith('.') ? join(dirname(file), target) : `packages/${target.replace('@atrium/', '').replace('/', '/src/')}`;

export const importsOf = (file: string): Import[] =>
  [...readFileSync(file, 'utf8').matchAll(importLine)].map(([, type, target = '']) => ({
    target,
    path: pathOf(file, target),
    isType: type !== undefined,
  }));

/** Returns the imports of a file that the table does not allow. */
export function forbiddenImports(file: string, table: ImportTable, room: (path: string) => string): Import[] {
  const from = room(file);
  const rule = table[from];
  return importsOf(file).filter(({ path, isType }) => {
    const to = room(path);
    return !(to === from || rule?.values.includes(to) || (isType && rule?.types?.includes(to)));
  });
}

/** Returns the files that import themselves by way of others, types included. */
export function filesInCycles(files: readonly string[]): string[] {
  const imports = new Map(files.map((file) => [file, importsOf(file).map(({ path }) => path)]));
  const reached = (from: string): Set<string> => {
    const found = new Set<string>();
    const queue = [...(imports.get(from) ?? [])];
    for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
      if (found.has(file)) continue;
      found.add(file);
      queue.push(...(imports.get(file) ?? []));
    }
    return found;
  };
  return files.filter((file) => reached(file).has(file));
}

export const upwardImports = (table: ImportTable): string[] => {
  const floors = Object.keys(table);
  return Object.entries(table).flatMap(([room, { values, types = [] }]) =>
    [...values, ...types].filter((to) => floors.indexOf(to) <= floors.indexOf(room)).map((to) => `${room}: ${to}`),
  );
};
