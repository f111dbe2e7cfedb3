import type { Suite } from 'mocha';

interface Stoppable {
  stop(): unknown;
}

/** How to stop what goes on after the suite, or needs no stop. */
export const needsNoStop = (): void => undefined;

/** By suite, what stops that which its hooks have started. */
const running = new WeakMap<Suite, (() => unknown)[]>();

/**
 * What all tests of a `describe` share: started before them, stopped after them and after the `after` hooks of the suite, the last
 * first. It can be used in hooks and tests as if it were there; before its start every use of it throws.
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
  // Nothing is read from the target of the proxy: it only gives it its type.
  return new Proxy({} as T, {
    get(_target, name) {
      const value: unknown = Reflect.get(there(), name);
      // A class with private fields wants to be itself.
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

/** Added while the suite runs, so that it comes after the hooks that the suite itself has. */
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
