import { api, bodyOf, type Schemas } from '../../api/client';
import type { Outcome } from '../../api/each';
import { asProblem } from '../../api/problem';
import type { operations } from '../../api/schema';

export async function setDisabled(name: string, isDisabled: boolean): Promise<void> {
  await patch(name, { spec: { is_disabled: isDisabled } });
}

type UserPatch = operations['PatchUser']['requestBody']['content']['application/merge-patch+json'];

const patch = (name: string, body: UserPatch) => api.PATCH('/auth/v1/users/{name}', { params: { path: { name } }, body });

const tries = 3;
/** Pause until the replica that answers has received a recent change. */
const pauseMs = 300;

/**
 * Changes the spec of a user as it was read. Later changes of the status by the service are no conflict; a change of the spec is one, and
 * is refused. An abort does not interrupt a write.
 */
export async function patchSpec({ metadata }: Schemas['User'], spec: NonNullable<UserPatch['spec']>, signal: AbortSignal): Promise<void> {
  const { name, generation } = metadata;
  for (let left = tries; ; left -= 1) {
    const now = (await bodyOf(api.GET('/auth/v1/users/{name}', { params: { path: { name } } }))).metadata;
    signal.throwIfAborted();
    const isAsRead = now.uid === metadata.uid && now.generation === generation;
    const { resourceVersion = '' } = isAsRead ? now : metadata;
    try {
      await patch(name, { metadata: { resourceVersion }, spec });
      return;
    } catch (error) {
      if (left === 1 || !isAsRead || asProblem(error).status !== 409) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

const deletedAtOnce = 500;

/** Deletes users in batches. An abort skips the batches that are left. */
export async function deleteUsers(names: readonly string[], signal: AbortSignal): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let from = 0; from < names.length && !signal.aborted; from += deletedAtOnce) {
    const answer: Schemas['UserDeleteResult'] = await bodyOf(
      api.DELETE('/auth/v1/users', { body: { names: names.slice(from, from + deletedAtOnce) } }),
    );
    for (const { name, status, message, reason } of answer.items)
      outcomes.push(status === 'Success' ? { name } : { name, message: message || reason || status });
  }
  return outcomes;
}
