import { api, bodyOf, type Schemas } from '../../api/client';
import { asProblem } from '../../api/problem';

type Binding = Schemas['UserBinding'];

/** In the Kubernetes API, which watches and patches bindings. */
export const bindingsPath = 'api/kubernetes/apis/auth.platform.io/v1/userbindings';

const tries = 5;
const looks = 40;
const pauseMs = 250;

/**
 * Writes to a binding as it was read. Its controller writes the status at any time: if only the status has changed, the write is sent again
 * with the current version.
 *
 * @returns the current binding if its spec has changed; then nothing was written
 */
export async function asRead(
  binding: Binding,
  send: (at: { uid: string; resourceVersion: string }) => Promise<unknown>,
  signal?: AbortSignal,
): Promise<Binding | undefined> {
  let { resourceVersion = '' } = binding.metadata;
  const { uid } = binding.metadata;
  for (let left = tries; ; left -= 1) {
    try {
      await send({ uid, resourceVersion });
      return undefined;
    } catch (error) {
      if (asProblem(error).status !== 409 || left === 0) throw error;
      const now = await otherThan(binding.metadata.name, resourceVersion);
      signal?.throwIfAborted();
      // The name belongs to another binding by now.
      if (now?.metadata.uid !== uid) throw error;
      if (JSON.stringify(now.spec) !== JSON.stringify(binding.spec)) return now;
      resourceVersion = now.metadata.resourceVersion ?? '';
    }
  }
}

/** The service answers from its watch, which may receive a change later than the API server uses it to refuse a write. */
async function otherThan(name: string, resourceVersion: string): Promise<Binding | undefined> {
  for (let left = looks; left > 0; left -= 1) {
    const now = await bodyOf(api.GET('/auth/v2/userbindings/{name}', { params: { path: { name } } }));
    if (now.metadata.resourceVersion !== resourceVersion) return now;
    await new Promise((done) => setTimeout(done, pauseMs));
  }
  return undefined;
}
