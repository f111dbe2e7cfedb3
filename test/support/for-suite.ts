import type { Suite } from 'mocha';

interface Stoppable {
  stop(): unknown;
}

/** The `stop` of a fixture that outlives the suite, or needs no stop. */
export const needsNoStop = (): void => undefined;

/** Functions that stop the fixtures of a suite. */
const running = new WeakMap<Suite, (() => unknown)[]>();

/**
 * Shares a fixture between all tests of a `describe`. The fixture starts before the tests, and stops after them and after the `after` hooks
 * of the suite; the last fixture stops first. Hooks and tests use the returned proxy as the fixture itself; before the start every use
 * throws.
 */
export function forSuite<T extends object & Stoppable>(start: () => Promise<T>): T;
export function forSuite<T extends object>(start: () => Promise<T>, stop: (started: T) => unknown): T;
export function forSuite<T extends object & Partial<Stoppable>>(
  start: () => Promise<T>,
  stop: (started: T) => unknown = (started) => started.stop?.(),
): T {
  let started: T | undefined;
  const there = (): T => {
    if (!started) throw new Error(`used before its start: ${start}`);
    return started;
  };
  before(async function () {
    const it = await start();
    started = it;
    stopAfter(this, () => stop(it));
  });
  // The target gives the proxy its type and is never read.
  return new Proxy({} as T, {
    get(_target, name) {
      const value: unknown = Reflect.get(there(), name);
      // Private fields need the instance as `this`, not the proxy.
      return typeof value === 'function' ? value.bind(there()) : value;
    },
    set: (_target, name, value) => Reflect.set(there(), name, value),
    has: (_target, name) => Reflect.has(there(), name),
    ownKeys: () => Reflect.ownKeys(there()),
    getOwnPropertyDescriptor(_target, name) {
      const descriptor = Reflect.getOwnPropertyDescriptor(there(), name);
      return descriptor && { ...descriptor, configurable: true };
    },
  });
}

/** Registers the stop while the suite runs, so that it runs after the hooks of the suite itself. */
function stopAfter({ test }: Mocha.Context, stop: () => unknown): void {
  const suite = test?.parent;
  if (!suite) throw new Error('not in a hook');
  const others = running.get(suite);
  if (others) others.unshift(stop);
  else {
    const stops = [stop];
    running.set(suite, stops);
    suite.afterAll('stops what its tests share', async () => {
      for (const one of stops) await one();
    });
  }
}
