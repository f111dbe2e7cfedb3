/** Figures of the console's source that a test holds. */
import { globSync } from 'node:fs';
import { functionsOf, type MeasuredFunction, sourceOf } from './functions.ts';

export const maxFunctionLines = 60;
/** Files directly in the folder of the cluster pages; the others stand in folders named by their noun. */
export const maxFlatFiles = 12;

/** Lists functions and components that are too long, longest first. */
export const longFunctions = (): MeasuredFunction[] =>
  globSync('web/src/**/*.{ts,tsx}')
    .flatMap((path) => functionsOf(sourceOf(path)))
    .filter(({ lines }) => lines > maxFunctionLines)
    .toSorted((a, b) => b.lines - a.lines);

export const flatFiles = (): string[] => globSync('web/src/pages/cluster/*.*').toSorted();
