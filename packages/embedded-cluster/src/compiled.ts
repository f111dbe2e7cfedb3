import { LRUCache } from 'lru-cache';

const max = 1_000;

/** Caches compiled texts for all clusters of the process, which get the same definitions and policies. Errors are not cached. */
export function compiledOnce<T extends object>(compile: (text: string) => T): (text: string) => T {
  const cache = new LRUCache<string, T>({ max });
  return (text) => {
    const known = cache.get(text);
    if (known !== undefined) return known;
    const made = compile(text);
    cache.set(text, made);
    return made;
  };
}
