/** Files of the spool. Calls hold the event loop as those for a log do: the kernel keeps the bytes in memory. */
import { closeSync, constants, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown error');

/** Writes all bytes at a position, or leaves the file as it was. */
export function writeWhole(fd: number, bytes: Buffer, position: number): void {
  try {
    if (writeSync(fd, bytes, 0, bytes.length, position) < bytes.length) throw new Error('the disk is full');
  } catch (error) {
    ftruncateSync(fd, position);
    throw error;
  }
}

export function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export function numberIn(file: string): number {
  try {
    const number = Number(readFileSync(file, 'utf8'));
    return Number.isSafeInteger(number) ? number : 0;
  } catch {
    // The first process finds no file.
    return 0;
  }
}

/** Takes the lock of a directory, which the kernel releases when the process ends. Node.js has no locks of files but those of SQLite. */
export function lockOf(directory: string): DatabaseSync {
  const lock = new DatabaseSync(join(directory, 'lock'));
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    throw new Error(`is used by another process: ${reasonOf(error)}`);
  }
}

/** Keeps a number in a file. A full disk has room for it, because it takes the place of the one before. */
export function keepNumber(file: string, number: number): void {
  const fd = openSync(file, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    writeSync(fd, `${number}`.padStart(16, '0'), 0);
  } finally {
    closeSync(fd);
  }
}
