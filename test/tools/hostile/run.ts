import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Attack } from './attack.ts';
import { Generator } from './generate.ts';
import { Oracle } from './oracle.ts';
import { shrink } from './shrink.ts';
import { countSteps, describeStep, type Step } from './steps.ts';
import { Violation } from './violation.ts';
import { type Variant, World } from './world.ts';

/** Number of steps in one world. */
const length = 400;
const lookEvery = 100;
/** Number of concurrent worlds. They spend most of the time waiting. */
const atOnce = process.env.TEST_CLUSTER === 'real' ? 1 : 8;
const maxShorter = 150;

const turns: readonly [Variant, ...Variant[]] = [
  'embedded email',
  'external sub',
  'embedded email',
  'embedded sub',
  'embedded email',
  'external sub',
  'embedded email',
  'external email',
];

interface Failure {
  violation: Violation;
  /** Steps up to the violation. */
  steps: readonly Step[];
  notes: readonly string[];
}

export interface Sequence {
  variant: Variant;
  steps: readonly Step[];
}

/** @returns the failure if a step violates a guarantee */
export async function play({ variant, steps }: Sequence): Promise<Failure | undefined> {
  const world = await World.start(variant);
  const notes: string[] = [];
  try {
    const attack = new Attack(world);
    const oracle = await Oracle.start(world, attack);
    for (const [index, step] of steps.entries()) {
      notes.push(`${describeStep(step)} -> ${await attack.perform(step)}`);
      await oracle.look(step);
      if ((index + 1) % lookEvery === 0 || index + 1 === steps.length) await oracle.lookAtEverything();
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof Violation))
      throw new Error(`after ${notes.length} steps (${variant}): ${notes.slice(-3).join('\n')}`, { cause: error });
    return { violation: error, steps: steps.slice(0, notes.length), notes };
  } finally {
    await world.stop();
  }
}

/** @returns a readable script with the path of a file to run again, if a step violates a guarantee */
export async function attackAtRandom(steps: number, seed: number): Promise<{ done: number; script?: string }> {
  const worlds = Math.max(1, Math.round(steps / length));
  const left = Array.from({ length: worlds }, (_, index) => index).values();
  let done = 0;
  let found: (Failure & { variant: Variant }) | undefined;
  const work = async () => {
    for (const index of left) {
      if (found) return;
      const variant = turns[index % turns.length] ?? turns[0];
      const sequence = new Generator(seed + index, variant).sequence(Math.min(length, steps));
      const failure = await play({ variant, steps: sequence });
      done += countSteps(failure?.steps ?? sequence);
      if (failure) found ??= { ...failure, variant };
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, worlds) }, work));
  return found === undefined ? { done } : { done, script: await scriptOf(found) };
}

async function scriptOf(found: Failure & { variant: Variant }): Promise<string> {
  const { variant } = found;
  let shortest: Failure = found;
  let tried = 0;
  await shrink(found.steps, async (steps) => {
    tried += 1;
    if (tried > maxShorter) return false;
    const failure = await play({ variant, steps });
    if (failure?.violation.kind !== found.violation.kind) return false;
    if (failure.steps.length < shortest.steps.length) shortest = failure;
    return true;
  });
  const path = join(tmpdir(), `atrium-hostile-${Date.now()}.json`);
  await writeFile(path, JSON.stringify({ variant, steps: shortest.steps }, null, 2));
  return [
    `${found.steps.length} steps (${variant}), ${shortest.steps.length} are enough (${tried} tries):`,
    ...shortest.notes.map((note, index) => `${index + 1}. ${note}`),
    `=> ${shortest.violation.message}`,
    `Again: HOSTILE_SCRIPT=${path} npm run test:hostile`,
  ].join('\n');
}
