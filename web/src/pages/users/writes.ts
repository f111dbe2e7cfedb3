import { api, bodyOf, type Schemas } from '../../api/client';
import { asProblem } from '../../api/problem';

export async function setDisabled(name: string, isDisabled: boolean): Promise<void> {
  await api.PATCH('/auth/v1/users/{name}', { params: { path: { name } }, body: { spec: { is_disabled: isDisabled } } });
}

export interface Outcome {
  name: string;
  /** Missing where it worked. */
  message?: string;
}

const atATime = 4;

/** One write for each, a few at a time. None stops the others. */
export async function each(names: readonly string[], write: (name: string) => Promise<void>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const left = [...names];
  const work = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
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

const deletedAtOnce = 500;

export async function deleteUsers(names: readonly string[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let from = 0; from < names.length; from += deletedAtOnce) {
    const answer: Schemas['UserDeleteResult'] = await bodyOf(
      api.DELETE('/auth/v1/users', { body: { names: names.slice(from, from + deletedAtOnce) } }),
    );
    for (const { name, status, message, reason } of answer.items)
      outcomes.push(status === 'Success' ? { name } : { name, message: message || reason || status });
  }
  return outcomes;
}
