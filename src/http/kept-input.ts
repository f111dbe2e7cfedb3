import { LRUCache } from 'lru-cache';
import { atMost } from './bound.ts';

const maxTexts = 128;
/** A text that is longer is rarely sent twice. */
const maxLength = 1024;

/**
 * What was understood of a text, to be had again when the same text comes: consoles ask the same questions again and again. For texts
 * without secrets alone, as they are kept. What is given is frozen: all who send that text get the same.
 */
export class KeptInput {
  readonly #understood = new LRUCache<string, { value: unknown }>(atMost(maxTexts));

  /** @throws whatever `understand` throws; that is not kept */
  of(text: string, understand: (text: string) => unknown): unknown {
    const known = this.#understood.get(text);
    if (known !== undefined) return known.value;
    const value = understand(text);
    if (text.length <= maxLength) this.#understood.set(text, { value: frozen(value) });
    return value;
  }
}

/** With all members; what schemas make of JSON has no cycles. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}
