import { PinoPretty } from 'pino-pretty';

/** Where a log goes that people read in a terminal. In this process, because a thread of its own finds no package in the image. */
export const prettyLog = (): { write(line: string): void } => PinoPretty({ singleLine: true, sync: true });
