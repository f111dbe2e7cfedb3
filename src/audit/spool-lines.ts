/** Lines of the spool: JSON after a checksum, so that a damaged line is known as such. */
import { crc32 } from 'node:zlib';
import type { AuditEvent } from '@atrium/audit-store/event.ts';

/** An event; the intent of a write, with the event as far as it is known; or the end of an intent without an event. */
export interface Line {
  event?: AuditEvent;
  intent?: AuditEvent;
  end?: string;
}

const checksumLength = 8;
const checksumOf = (text: string) => crc32(text).toString(16).padStart(checksumLength, '0');

export function lineOf(line: Line): Buffer {
  const text = JSON.stringify(line);
  return Buffer.from(`${checksumOf(text)} ${text}\n`);
}

/** Returns the lines of a file, and the number of those that are damaged or end too early. */
export function linesIn(content: Buffer): { lines: Line[]; damaged: number } {
  const texts = content.toString().split('\n');
  const torn = texts.pop() === '' ? 0 : 1;
  const lines = texts.flatMap((text) => {
    const json = text.slice(checksumLength + 1);
    return text.slice(0, checksumLength) === checksumOf(json) ? [JSON.parse(json) as Line] : [];
  });
  return { lines, damaged: texts.length - lines.length + torn };
}

/** Returns the intents that neither an event nor an end has followed. */
export function openIntents(lines: readonly Line[]): AuditEvent[] {
  const open = new Map<string, AuditEvent>();
  for (const { event, intent, end } of lines) {
    if (intent) open.set(intent.auditID, intent);
    else open.delete(end ?? event?.auditID ?? '');
  }
  return [...open.values()];
}
