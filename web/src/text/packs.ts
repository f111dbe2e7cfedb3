/** Languages that an installation adds to the console: `console.languages` names them, public ConfigMaps of plugins have their words. */
import { api, bodyOf, type Schemas } from '../api/client';
import { addLanguage, isOwn } from './text';

type File = Schemas['ConsolePluginFile'];

/** Looks for added languages, and offers each that has texts. Languages that cannot be loaded are left out. */
export async function findLanguages(): Promise<void> {
  const { availableLanguages } = await bodyOf(api.GET('/api/v1/i18n/languages'));
  const named = availableLanguages.filter(({ id }) => !isOwn(id));
  if (named.length === 0) return;
  // The request has no credentials: public files only, and none that this user alone may read.
  const { items } = await bodyOf(api.GET('/api/v1/console-plugins', { credentials: 'omit' }));
  for (const { id, name } of named) {
    const words = items.filter((file) => file.path === `/plugins/${file.plugin}/locales/${id}.json`).map(wordsOf);
    // The first plugin in the list wins.
    await addLanguage(id, name, Object.assign({}, ...words.toReversed()));
  }
}

/** Returns no texts for a file that is no object of texts. */
function wordsOf({ contents, encoding }: File): Record<string, string> {
  try {
    const bytes = encoding === 'base64' ? Uint8Array.from(atob(contents), (character) => character.charCodeAt(0)) : undefined;
    const given: unknown = JSON.parse(bytes ? new TextDecoder().decode(bytes) : contents);
    return Object.fromEntries(Object.entries(given as object).filter(([, text]) => typeof text === 'string'));
  } catch {
    return {};
  }
}
