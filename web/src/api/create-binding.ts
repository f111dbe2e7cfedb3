import { api, bodyOf, type Schemas } from './client';
import { asProblem } from './problem';
import { randomSuffix } from './random-suffix';

interface NewBinding extends Pick<Schemas['UserBinding'], 'spec'> {
  metadata: { generateName: string };
}

/**
 * Returns a function that creates a binding once. A repeated call with the same body sends the same name, so that it finds the binding if
 * the answer to the first call was lost.
 */
export function bindingCreator(): (body: NewBinding) => Promise<string> {
  let [sent, name] = ['', ''];
  return async (wanted) => {
    const text = JSON.stringify(wanted);
    const isRetry = text === sent;
    if (!isRetry) name = wanted.metadata.generateName + randomSuffix();
    sent = text;
    try {
      await bodyOf(api.POST('/auth/v2/userbindings', { body: { metadata: { name }, spec: wanted.spec } }));
    } catch (error) {
      const isTaken = asProblem(error).reason === 'AlreadyExists';
      // The name belongs to another binding if this is its first use.
      if (isTaken && !isRetry) sent = '';
      if (!isTaken || !isRetry) throw error;
    }
    return name;
  };
}
