import { asProblem } from './problem';

export interface Outcome {
  name: string;
  /** Undefined on success. */
  message?: string;
}

const atATime = 4;

/** Calls `write` for each name, a few at a time. A failure does not stop the others; an abort skips the names that are left. */
export async function each(names: readonly string[], write: (name: string) => Promise<void>, signal: AbortSignal): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const left = [...names];
  const work = async () => {
    for (let name = left.shift(); name !== undefined && !signal.aborted; name = left.shift()) {
      const one = name;
      outcomes.push(
        await write(one).then(
          () => ({ name: one }),
          (error: unknown) => ({ name: one, message: asProblem(error).message }),
        ),
      );
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return outcomes;
}
