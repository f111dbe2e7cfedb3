import { tooManyRequests } from '../http/status.ts';

const maxOfPlugin = 64;
const maxInAll = 256;

/** How many requests are under way to Services of plugins: one that hangs must hold up neither the others nor the console. */
export class InFlight {
  readonly #ofPlugin = new Map<string, number>();
  #all = 0;

  /** @returns what ends it, once; @throws StatusError 429 */
  begin(plugin: string): () => void {
    const count = this.#ofPlugin.get(plugin) ?? 0;
    if (count >= maxOfPlugin || this.#all >= maxInAll) throw tooManyRequests('too many requests to plugins are under way, try again');
    this.#ofPlugin.set(plugin, count + 1);
    this.#all += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = (this.#ofPlugin.get(plugin) ?? 1) - 1;
      if (left === 0) this.#ofPlugin.delete(plugin);
      else this.#ofPlugin.set(plugin, left);
      this.#all -= 1;
    };
  }
}
