/** `audit recordings` lists recordings of shells, and `audit recording` prints one as a file of asciinema. */
import * as z from 'zod/mini';
import type { Session } from './access.ts';
import { askService, readService } from './service.ts';
import { shellLine } from './shell-line.ts';
import { table } from './table.ts';
import { CommandError, harmlessJSON, jsonText, say } from './terminal.ts';

export interface RecordingsOptions {
  namespace?: string;
  who?: string;
  pod?: string;
  /** Seconds. */
  since?: number;
  /** Seconds. */
  until?: number;
  limit?: number;
  output?: 'json';
}

const recordingSchema = z.looseObject({
  id: z.string(),
  user: z.looseObject({ username: z.string() }),
  objectRef: z.looseObject({ namespace: z.string(), name: z.string(), subresource: z.string() }),
  container: z.optional(z.string()),
  command: z.optional(z.array(z.string())),
  requestID: z.optional(z.string()),
  startedAt: z.string(),
  endedAt: z.optional(z.string()),
  reason: z.optional(z.string()),
  seconds: z.number(),
  lostBytes: z.number(),
});
const listSchema = z.looseObject({
  metadata: z.looseObject({ continue: z.optional(z.string()) }),
  scope: z.enum(['All', 'Own']),
  items: z.array(recordingSchema),
});
export type Recording = z.infer<typeof recordingSchema>;

const usualLimit = 100;
const pageSize = 200;
/** Prints recordings without their output, the newest last. @throws CommandError */
export async function printRecordings({ limit = usualLimit, output, ...conditions }: RecordingsOptions, session: Session): Promise<void> {
  const { terminal } = session;
  const { items, scope, isPart } = await readRecordings(questionOf(conditions), limit, session);
  if (scope === 'Own') say(terminal, 'The list has your own shells only: you may not list recordings.auth.platform.io here.');
  if (isPart) say(terminal, `There are older recordings: the list has the newest ${items.length}.`);
  terminal.stdout.write(output === 'json' ? jsonText({ items }, 2) : table([titles, ...items.map(rowOf)]));
}

/** Prints a recording for `asciinema play`. @throws CommandError */
export async function printRecording(id: string, session: Session): Promise<void> {
  const { terminal } = session;
  const decoder = new TextDecoder();
  for await (const chunk of readRecording(id, session)) terminal.stdout.write(harmlessJSON(decoder.decode(chunk, { stream: true })));
}

/** Reads a recording as a file of asciinema, in parts. @throws CommandError, also if the answer breaks off */
export const readRecording = (id: string, { wanted, terminal }: Session): AsyncIterable<Uint8Array> =>
  readService(`/auth/v1/audit/recordings/${encodeURIComponent(id)}`, wanted, terminal);

/** Reads the newest recordings, in the order of their begin. @throws CommandError */
export async function readRecordings(question: Readonly<Record<string, string>>, atMost: number, { wanted, terminal }: Session) {
  const newestFirst: Recording[] = [];
  for (let place: string | undefined; ; ) {
    const limit = String(Math.min(pageSize, atMost - newestFirst.length));
    const query = new URLSearchParams({ ...question, limit, ...(place !== undefined && { continue: place }) });
    const { data } = listSchema.safeParse(
      await askService({ method: 'GET', path: `/auth/v1/audit/recordings?${query}` }, wanted, terminal),
    );
    if (data === undefined) throw new CommandError('the service answered with no list');
    newestFirst.push(...data.items);
    place = data.metadata.continue;
    const isPart = place !== undefined;
    if (!isPart || newestFirst.length >= atMost) return { items: newestFirst.reverse(), scope: data.scope, isPart };
  }
}

function questionOf({ namespace, who, pod, since, until }: RecordingsOptions): Readonly<Record<string, string>> {
  const timeOf = (age: number) => new Date(Date.now() - age * 1000).toISOString();
  return {
    ...(namespace && { namespace }),
    ...(who && { actor: who }),
    ...(pod && { name: pod }),
    ...(since !== undefined && { from: timeOf(since) }),
    ...(until !== undefined && { to: timeOf(until) }),
  };
}

const titles = ['ID', 'BEGIN', 'USER', 'NAMESPACE', 'POD', 'CONTAINER', 'COMMAND', 'SECONDS', 'STATE'];

const rowOf = ({ id, startedAt, user, objectRef, container = '', command = [], seconds, ...state }: Recording): string[] => [
  id,
  startedAt,
  user.username,
  objectRef.namespace,
  objectRef.name,
  container,
  objectRef.subresource === 'attach' ? 'attach' : shellLine(command),
  String(Math.round(seconds)),
  stateOf(state),
];

/** Without an end the shell runs, or its replica was killed. */
function stateOf({ endedAt, reason, lostBytes }: Pick<Recording, 'endedAt' | 'reason' | 'lostBytes'>): string {
  if (reason !== undefined) return reason;
  if (endedAt === undefined) return 'no end';
  return lostBytes > 0 ? `${lostBytes} bytes missing` : 'complete';
}
