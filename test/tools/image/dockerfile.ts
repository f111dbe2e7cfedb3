/** An instruction of a Dockerfile, with continued lines joined. */
interface Instruction {
  name: string;
  text: string;
}

/** A stage of a Dockerfile, from a FROM to the next. */
export interface Stage {
  base: string;
  as: string | undefined;
  instructions: readonly Instruction[];
}

/**
 * Parses the stages of a Dockerfile and substitutes the build arguments before the first stage. Supports the syntax that the Dockerfile of
 * this project uses.
 *
 * @see https://docs.docker.com/reference/dockerfile/
 */
export function parseDockerfile(text: string): Stage[] {
  const joined = text.replace(/^\s*#.*\n/gm, '').replace(/\\\n/g, ' ');
  const instructions = joined.split('\n').flatMap((line) => {
    const [, name, rest = ''] = /^\s*([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, text: rest.trim() }];
  });
  const first = instructions.findIndex(({ name }) => name === 'FROM');
  const defaults = Object.fromEntries(instructions.slice(0, first).map(({ text }) => text.split('=', 2) as [string, string]));
  const stages: { base: string; as: string | undefined; instructions: Instruction[] }[] = [];
  for (const instruction of instructions.slice(first)) {
    if (instruction.name !== 'FROM') stages.at(-1)?.instructions.push(instruction);
    else {
      const [base = '', as] = instruction.text.split(/\s+AS\s+/i);
      stages.push({ base: base.replace(/\$\{(\w+)\}/g, (_, name: string) => defaults[name] ?? ''), as, instructions: [] });
    }
  }
  return stages;
}

/** Returns the text of the last instruction of a name. */
export const last = ({ instructions }: Stage, name: string): string | undefined =>
  instructions.findLast((instruction) => instruction.name === name)?.text;
