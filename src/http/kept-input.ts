import { LRUCache } from 'lru-cache';
import { atMost } from '../limits/bound.ts';

const maxTexts = 128;
/** Longer texts are rarely sent twice. */
const maxLength = 1024;

/**
 * Cache of parsed input by its text, for texts without secrets: consoles ask the same questions again and again. Values are frozen, because
 * all callers that send a text share its value. Caches of what follows from an input use the value as their key.
 */
export class KeptInput {
  readonly #values = new LRUCache<string, { value: unknown }>(atMost(maxTexts));

  /** @throws whatever `parse` throws; errors are not kept */
  of(text: string, parse: (text: string) => unknown): unknown {
    const known = this.#values.get(text);
    if (known !== undefined) return known.value;
    const value = parse(text);
    if (text.length <= maxLength) this.#values.set(text, { value: frozen(value) });
    return value;
  }
}

/** Freezes all members, too. Schemas make no cycles of JSON. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}
