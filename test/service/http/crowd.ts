import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';

interface Answered {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
}

/** Networks that fill what is waited for. */
export const networks = ['203.0.113.1', '203.0.113.2', '203.0.113.3'] as const;

/** Clients that fill what is waited for, by their number. */
export const fillings: Readonly<Record<string, readonly string[]>> = {
  'one address': networks.slice(0, 1),
  'three networks': networks,
};

/** Returns the headers of a request from an address. */
export const from = (address: string, more: Readonly<Record<string, string>> = {}) => ({ 'X-Forwarded-For': address, ...more });

/** Requests of clients that fill what is waited for, and what they wait for. */
export class Crowd {
  readonly answers: Answered[] = [];
  readonly #held = Promise.withResolvers<void>();
  readonly #all: Promise<void>[] = [];
  /** Fulfilled at the end. Answers that the crowd waits for wait for it. */
  readonly isOver: Promise<void> = this.#held.promise;

  send(count: number, request: (index: number) => Promise<Answered>): void {
    for (let index = 0; index < count; index += 1)
      this.#all.push(
        request(index).then((answer) => {
          this.answers.push(answer);
        }),
      );
  }

  count(status: number): number {
    return this.answers.filter((answer) => answer.status === status).length;
  }

  /** Waits until as many requests are refused, and expects that none has another answer. */
  async refused(least: number): Promise<void> {
    await eventually(
      () => this.count(429),
      (count) => count >= least,
    );
    expect(new Set(this.answers.map(({ status, headers }) => `${status} ${headers.get('retry-after')}`))).to.deep.equal(new Set(['429 1']));
  }

  /** Releases what is waited for. @returns the statuses of all requests */
  async end(): Promise<Set<number>> {
    this.#held.resolve();
    await Promise.all(this.#all);
    return new Set(this.answers.map(({ status }) => status));
  }
}

/** Expects 200 for the requests of clients that behave, sent at once. */
export async function expectServed(clients: Readonly<Record<string, () => Promise<{ readonly status: number }>>>): Promise<void> {
  const answers = await Promise.all(Object.entries(clients).map(async ([name, ask]) => [name, (await ask()).status] as const));
  expect(Object.fromEntries(answers)).to.deep.equal(Object.fromEntries(answers.map(([name]) => [name, 200])));
}

/** Returns the number of running tasks by class. */
export async function runningOf(metricsURL: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${metricsURL}/metrics`)).text();
  const found = text.matchAll(/^atrium_places\{class="(\w+)",state="running"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, name, count]) => [name, Number(count)]));
}

/** Numbers clients that behave in the same way. */
export const times = <T>(count: number, name: string, ask: (index: number) => T): Record<string, () => T> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name} ${index}`, () => ask(index)]));
