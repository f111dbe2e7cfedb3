/** Lock file that one process at a time holds. */
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from './terminal.ts';

export const lockEnding = '.lock';

/** Interval at which the holder touches the file. */
const beatMs = 250;
const pollMs = 50;
/**
 * A process that has seen the file untouched for so many polls considers it abandoned: 5 s of being awake. No clocks are compared, since
 * two machines with a shared home folder, or one that slept, have different times.
 */
const goneAfterPolls = 100;
/** If several processes take over at once, the last one wins; after this time all of them know. */
const settleMs = 150;

interface LockOptions {
  waitMs: number;
  signal: AbortSignal;
  gonePolls?: number;
}

/** @throws CommandError if it is held for longer than `waitMs`; the reason of the signal */
export async function withLock<T>(path: string, work: () => Promise<T>, options: LockOptions): Promise<T> {
  const holder = randomUUID();
  await acquire(path, holder, options);
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, beatMs);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    // Another process may have taken the lock over while this one slept.
    if ((await holderOf(path)) === holder) await rm(path, { force: true });
  }
}

async function acquire(path: string, holder: string, { waitMs, signal, gonePolls = goneAfterPolls }: LockOptions): Promise<void> {
  const deadline = performance.now() + waitMs;
  let seen: string | undefined;
  let untouched = 0;
  while (!(await create(path, holder))) {
    const touched = await lastTouch(path);
    untouched = touched === seen ? untouched + 1 : 0;
    seen = touched;
    if (touched !== undefined && untouched > gonePolls && (await takeOver(path, holder))) return;
    if (performance.now() > deadline) throw new CommandError('another process is logging in, and takes too long');
    await sleep(pollMs, undefined, { signal }).catch(() => {
      throw signal.reason;
    });
  }
}

/** @returns false if another process holds the lock */
async function create(path: string, holder: string): Promise<boolean> {
  try {
    await writeFile(path, holder, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** @returns whether this process holds the lock now */
async function takeOver(path: string, holder: string): Promise<boolean> {
  const own = `${path}.${holder}`;
  await writeFile(own, holder, { flag: 'wx', mode: 0o600 });
  await rename(own, path);
  await sleep(settleMs);
  return (await holderOf(path)) === holder;
}

const holderOf = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);

/** Identifies a touch: changes with every touch, and with the holder. */
async function lastTouch(path: string): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined);
  return stats && `${stats.ino} ${stats.mtimeMs}`;
}
