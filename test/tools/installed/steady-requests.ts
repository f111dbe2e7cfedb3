import { setTimeout } from 'node:timers/promises';
import type { Release } from './release.ts';

const pauseMs = 10;

/** Sends the given requests in turn, one after the other and each on its own connection, as users who keep working do. */
export class SteadyRequests {
  readonly #release: Release;
  readonly #asked: readonly { path: string; headers?: Record<string, string> }[];
  readonly #answers: string[] = [];
  readonly #work: Promise<unknown>;
  #isOver = false;

  constructor(release: Release, asked: readonly { path: string; headers?: Record<string, string> }[]) {
    this.#release = release;
    this.#asked = asked;
    this.#work = Promise.all([this.#ask(), this.#ask()]);
  }

  /** Ends the requests. @returns their number, and the answers other than 200 */
  async stop(): Promise<{ count: number; failures: string[] }> {
    this.#isOver = true;
    await this.#work;
    return { count: this.#answers.length, failures: this.#answers.filter((answer) => !answer.startsWith('200 ')) };
  }

  async #ask(): Promise<void> {
    for (let turn = 0; !this.#isOver; turn += 1) {
      const { path, headers } = this.#asked[turn % this.#asked.length] ?? { path: '/' };
      const answer = await this.#release.get(path, headers).then(
        async (response) =>
          `${response.status} ${path} ${response.status === 200 ? (await response.arrayBuffer()).byteLength : await response.text()}`,
        (error: unknown) => `${error} ${path}`,
      );
      this.#answers.push(answer);
      await setTimeout(pauseMs);
    }
  }
}
