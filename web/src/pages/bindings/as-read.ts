import { api, bodyOf, type Schemas } from '../../api/client';
import { asProblem } from '../../api/problem';

type Binding = Schemas['UserBinding'];

const tries = 5;

/**
 * Writes to a binding as it was read. Its controller writes the status at any time: where that alone has changed, the write is sent
 * again with the version of now.
 * @returns what the binding is now, if its spec is another one; then nothing was written
 */
export async function asRead(
  binding: Binding,
  send: (at: { uid: string; resourceVersion: string }) => Promise<unknown>,
): Promise<Binding | undefined> {
  let { resourceVersion = '' } = binding.metadata;
  const { name, uid } = binding.metadata;
  for (let left = tries; ; left -= 1) {
    try {
      await send({ uid, resourceVersion });
      return undefined;
    } catch (error) {
      if (asProblem(error).status !== 409 || left === 0) throw error;
      const now = await bodyOf(api.GET('/auth/v2/userbindings/{name}', { params: { path: { name } } }));
      // Another one has the name by now.
      if (now.metadata.uid !== uid) throw error;
      if (JSON.stringify(now.spec) !== JSON.stringify(binding.spec)) return now;
      resourceVersion = now.metadata.resourceVersion ?? '';
    }
  }
}
