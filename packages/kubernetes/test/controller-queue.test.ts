import { createHook } from 'node:async_hooks';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { DueTimes } from '@atrium/kubernetes/controllers/due-times.ts';
import { backlogFrom, type Outcome, WorkQueue, type WorkQueueOptions } from '@atrium/kubernetes/controllers/work-queue.ts';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { until } from './watch-fixture.ts';

const dayMs = 86_400_000;

/** Lets the event loop turn. */
async function turnOften(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await turn();
}

describe('the queue of a controller', () => {
  let ending: AbortController;
  let looks: string[];
  let running: Promise<void>;
  beforeEach(() => {
    ending = new AbortController();
    looks = [];
    running = Promise.resolve();
  });
  afterEach(async () => {
    ending.abort();
    await running;
  });

  const start = (reconcile: (key: string) => Outcome | Promise<Outcome> = () => 'done', options: Partial<WorkQueueOptions> = {}) => {
    const queue = new WorkQueue({ workers: 4, minRetryMs: 1, maxRetryMs: 4, now: () => new Date(), ...options });
    const work = {
      reconcile: async (key: string) => {
        looks.push(key);
        return reconcile(key);
      },
      onFailure: () => undefined,
    };
    running = queue.run(work, ending.signal);
    return queue;
  };
  const keys = (count: number) => Array.from({ length: count }, (_, index) => `key-${index}`);
  /** Counts the asynchronous resources that the queue creates; the process creates others for itself. */
  const madeDuring = async (type: string, act: () => Promise<unknown>) => {
    let count = 0;
    const hook = createHook({
      init(_id, made) {
        if (made === type && new Error('made').stack?.includes('/kubernetes/src/')) count += 1;
      },
    }).enable();
    await act();
    hook.disable();
    return count;
  };

  it('LIM-12 gives the event loop back in slices, however many keys there are', async () => {
    // Each reconciliation takes a millisecond.
    let time = 0;
    let most = 0;
    let seen = 0;
    const queue = start(
      () => {
        time += 1;
        return 'done';
      },
      { clock: () => time },
    );
    const all = queue.addAll(keys(2_000), ending.signal);
    while (looks.length < 2_000) {
      await turn();
      most = Math.max(most, looks.length - seen);
      seen = looks.length;
    }
    await all;

    expect(new Set(looks).size).to.equal(2_000);
    expect(most).to.be.within(1, 10);
  });

  it('gives a backlog of background keys one worker, lets other keys pass, and uses all workers without a backlog', async () => {
    const running = new Map<string, () => void>();
    const finish = () => {
      for (const release of running.values()) release();
      running.clear();
    };
    const queue = start((key) => new Promise<Outcome>((resolve) => running.set(key, () => resolve('done'))), {
      isBackground: (key) => key.startsWith('key-'),
    });
    await queue.addAll(keys(backlogFrom + 10), ending.signal);
    // The first ones came before the backlog.
    expect(running).to.have.length(4);
    finish();
    await until(() => running.size > 0);
    queue.add('deleted');
    await turnOften(20);
    expect([...running.keys()]).to.deep.equal(['key-4', 'deleted']);
    let most = 0;
    while (looks.length < backlogFrom + 11) {
      finish();
      await until(() => running.size > 0);
      await turnOften(20);
      const isBacklog = queue.depth >= backlogFrom;
      if (isBacklog) expect(running).to.have.length(1);
      most = Math.max(most, running.size);
    }
    finish();

    expect(most).to.equal(4);
  });

  it('LIM-12 looks at one key of 100,000 when one changes, and at none and with no timer while none does', async () => {
    const queue = start(() => ({ requeueAfterMs: 90 * dayMs + Math.random() * dayMs }));
    await queue.addAll(keys(100_000), ending.signal);
    await until(() => looks.length === 100_000);
    await turnOften(20);
    looks.length = 0;

    expect(await madeDuring('Timeout', () => turnOften(1_000))).to.equal(0);
    expect(looks).to.deep.equal([]);
    queue.add('key-70000');
    await turnOften(1_000);
    expect(looks).to.deep.equal(['key-70000']);
  });

  it('waits months without a timer that is over at once', async () => {
    const queue = start(() => ({ requeueAfterMs: 2 ** 31 + 1 }));
    const warnings: Error[] = [];
    const note = (warning: Error) => {
      if (warning.name === 'TimeoutOverflowWarning') warnings.push(warning);
    };
    process.on('warning', note);
    queue.add('far');
    await until(() => looks.length > 0);
    await sleep(20);
    process.off('warning', note);

    expect(looks).to.deep.equal(['far']);
    expect(warnings).to.deep.equal([]);
  });

  it('looks again when the time has come, by the wall clock where that is asked for', async () => {
    let now = new Date('2026-03-01T12:00:00Z');
    const wanted: Record<string, Outcome> = { dated: { requeueAt: now.getTime() + 20 }, after: { requeueAfterMs: 5 } };
    const queue = start((key) => (looks.filter((look) => look === key).length === 1 ? (wanted[key] ?? 'done') : 'done'), {
      now: () => now,
    });
    queue.add('dated');
    queue.add('after');
    await until(() => looks.length === 3);
    expect(looks).to.deep.equal(['dated', 'after', 'after']);

    now = new Date('2026-03-01T12:00:01Z');
    await until(() => looks.length === 4);
    expect(looks.at(-1)).to.equal('dated');
  });

  it('keeps to its workers when thousands of keys are due at the same time', async () => {
    let running = 0;
    let most = 0;
    const at = Date.now() + 100;
    const seen = new Set<string>();
    const due: string[] = [];
    const queue = start(async (key) => {
      // On a slow machine some keys are reconciled for the first time when they are due again.
      if (!seen.has(key)) {
        seen.add(key);
        return { requeueAt: at };
      }
      due.push(key);
      running += 1;
      most = Math.max(most, running);
      await turn();
      running -= 1;
      return 'done';
    });
    await queue.addAll(keys(3_000), ending.signal);
    await until(() => due.length >= 3_000);

    expect(most).to.equal(4);
    expect(new Set(due).size).to.equal(3_000);
  });

  it('looks once more at a key that changes during its reconciliation, and never twice at one time', async () => {
    const gate = Promise.withResolvers<Outcome>();
    const queue = start(() => (looks.length === 1 ? gate.promise : 'done'));
    queue.add('busy');
    await until(() => looks.length === 1);
    queue.add('busy');
    queue.add('busy');

    // Free workers must not poll, which would create thousands of resources; a library may create one.
    expect(await madeDuring('Immediate', () => sleep(20))).to.be.below(10);
    expect(looks).to.deep.equal(['busy']);
    gate.resolve({ requeueAfterMs: dayMs });
    await until(() => looks.length === 2);
    await turnOften(20);
    expect(looks).to.deep.equal(['busy', 'busy']);
  });

  it('combines changes of a key within the delay', async () => {
    // On a slow machine, ten turns may take longer than any delay.
    let time = 0;
    const queue = start(() => 'done', { delayMs: 30, clock: () => time });
    for (let count = 0; count < 10; count += 1) {
      queue.add('often');
      await turn();
      time += 1;
    }
    expect(looks).to.deep.equal([]);
    time = 29;
    await sleep(50);
    expect(looks).to.deep.equal([]);
    time = 30;
    await until(() => looks.length > 0);
    await sleep(50);
    expect(looks).to.deep.equal(['often']);
  });

  it('retries a failed key with growing pauses, which a success resets', async () => {
    let failures = 3;
    const queue = start((key) => {
      if (key === 'bad' && failures-- > 0) throw new Error('refused');
      return key === 'never' && looks.length < 8 ? 'again' : 'done';
    });
    queue.add('bad');
    queue.add('never');
    queue.add('good');
    await until(() => looks.filter((key) => key === 'bad').length === 4 && looks.length >= 8);
    await sleep(20);

    expect(looks.filter((key) => key === 'bad')).to.have.length(4);
    expect(looks.filter((key) => key === 'good')).to.have.length(1);
  });
});

describe('times at which keys are due', () => {
  it('come in their order, whatever was set, changed and removed', () => {
    const due = new DueTimes();
    const known = new Map<string, number>();
    for (let step = 0; step < 20_000; step += 1) {
      const key = `key-${Math.floor(Math.random() * 300)}`;
      if (Math.random() < 0.3) {
        due.delete(key);
        known.delete(key);
      } else {
        const at = Math.floor(Math.random() * 1_000);
        due.set(key, at);
        known.set(key, at);
      }
      if (step % 100 === 0) expect(due.first?.at).to.equal(known.size === 0 ? undefined : Math.min(...known.values()));
    }
    expect(due.size).to.equal(known.size);
    const taken: number[] = [];
    for (let { first } = due; first !== undefined; { first } = due) {
      expect(known.get(first.key)).to.equal(first.at);
      taken.push(first.at);
      due.delete(first.key);
    }
    expect(taken).to.deep.equal([...known.values()].sort((left, right) => left - right));
  });
});
