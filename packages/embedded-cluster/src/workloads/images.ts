/** Images of the toy registry: how their containers run, and the lines that they log. */

import { readFileSync } from 'node:fs';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { parse } from 'yaml';
import { at } from '../objects.ts';
import type { ContainerSpec } from './shapes.ts';

/** The life of a container from its start on. */
export interface Run {
  /** Milliseconds until the process ends; unset: it runs until it is stopped. */
  endsAfterMs?: number;
  exitCode?: number;
  reason?: string;
  /** Memory limit with which the container runs until it is stopped. */
  enoughMemory?: string;
  /** Milliseconds between two lines of its log. */
  lineEveryMs: number;
  lines: readonly string[];
}

/** The duration of a pull. */
export const pullMs = 700;

const families = parse(readFileSync(new URL('../../data/images.yaml', import.meta.url), 'utf8')) as (Run & { images: string[] })[];
const runs: ReadonlyMap<string, Run> = new Map(families.flatMap((run) => run.images.map((image) => [image, run] as const)));
const plain: Run = { lineEveryMs: 3_000, lines: ['tick {n}'] };

/** Tags that the registry does not have, whatever the repository, by how they end. */
const missingTags = ['-typo', ':bad', ':missing'];

/** Returns how a container of an image runs; `undefined` for an image that cannot be pulled. */
export function runOf(image: string): Run | undefined {
  if (missingTags.some((end) => image.endsWith(end))) return undefined;
  const repository = image.split('@')[0]?.split('/').at(-1)?.split(':')[0] ?? '';
  return runs.get(repository) ?? plain;
}

/** Returns how a container runs within its memory limit; `undefined` for an image that cannot be pulled. */
export function runIn({ image, resources }: ContainerSpec): Run | undefined {
  const run = runOf(image);
  const limit = quantityOf(String(at(resources, 'limits.memory'))) ?? 0;
  const enough = quantityOf(run?.enoughMemory ?? '') ?? Number.POSITIVE_INFINITY;
  return run && limit >= enough ? { lineEveryMs: run.lineEveryMs, lines: run.lines } : run;
}

/** Returns a line of the log of a container. */
export function lineOf({ lines }: Run, index: number): string {
  const number = index + 1;
  return (lines[index % lines.length] ?? '').replaceAll(/\{n(?:%(\d+))?\}/g, (_, by) => String(by ? number % Number(by) : number));
}
