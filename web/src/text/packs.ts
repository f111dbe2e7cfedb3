/** Languages that an installation adds to the console: `console.languages` names them, public ConfigMaps of plugins have their words. */
import { api, bodyOf, type Schemas } from '../api/client';
import { addLanguage, isOwn } from './text';

type File = Schemas['ConsolePluginFile'];

/** Looks for them, and offers each that has words. The console does without those that cannot be had. */
export async function findLanguages(): Promise<void> {
  const { availableLanguages } = await bodyOf(api.GET('/api/v1/i18n/languages'));
  const named = availableLanguages.filter(({ id }) => !isOwn(id));
  if (named.length === 0) return;
  // As a stranger: what is public, and nothing that this person alone may see.
  const { items } = await bodyOf(api.GET('/api/v1/console-plugins', { credentials: 'omit' }));
  for (const { id, name } of named) {
    const words = items.filter((file) => file.path === `/plugins/${file.plugin}/locales/${id}.json`).map(wordsOf);
    // The first in the order of the plugins counts.
    await addLanguage(id, name, Object.assign({}, ...words.toReversed()));
  }
}

/** None of a file that is no object of texts. */
function wordsOf({ contents, encoding }: File): Record<string, string> {
  try {
    const bytes = encoding === 'base64' ? Uint8Array.from(atob(contents), (character) => character.charCodeAt(0)) : undefined;
    const given: unknown = JSON.parse(bytes ? new TextDecoder().decode(bytes) : contents);
    return Object.fromEntries(Object.entries(given as object).filter(([, text]) => typeof text === 'string'));
  } catch {
    return {};
  }
}
