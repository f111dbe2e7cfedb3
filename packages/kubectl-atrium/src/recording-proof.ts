/** `audit verify --recordings`: checks that recordings of shells are those that the events of their shells describe. */
import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import type { Session } from './access.ts';
import { type Recording, readRecording, readRecordings } from './recordings.ts';
import { CommandError, harmless } from './terminal.ts';

const eventSchema = z.looseObject({
  source: z.string(),
  event: z.optional(z.string()),
  outcome: z.string(),
  user: z.optional(z.looseObject({ username: z.string() })),
  objectRef: z.looseObject({ namespace: z.optional(z.string()), name: z.optional(z.string()), subresource: z.optional(z.string()) }),
  connection: z.optional(
    z.looseObject({
      container: z.optional(z.string()),
      command: z.optional(z.array(z.string())),
      recording: z.optional(z.string()),
      recorded: z.optional(z.looseObject({ sha256: z.string(), bytes: z.number() })),
    }),
  ),
  stage: z.optional(z.string()),
  reason: z.optional(z.string()),
  requestID: z.optional(z.string()),
  requestReceivedTimestamp: z.string(),
});
type Event = z.infer<typeof eventSchema>;

/** Events about one recording. */
interface Told {
  shell?: Event;
  end?: Event;
  removal?: Event;
  /** A deletion whose end nobody has seen. */
  attempt?: Event;
}

type State = 'verified' | 'changed' | 'unended' | 'unproven' | 'deleted' | 'expired' | 'gone';

const titles: Readonly<Record<State, string>> = {
  verified: 'unchanged',
  changed: 'changed or missing',
  unended: 'without an end',
  unproven: 'without an event of their end',
  deleted: 'deleted',
  expired: 'removed by the retention',
  gone: 'removed during the check',
};

/** Result of a check, and what the command prints about it. */
interface Checked {
  state: State;
  said?: string;
}

/** Recordings of a service, and what its events tell of them. */
export class RecordingProof {
  readonly #session: Session;
  readonly #stored: ReadonlyMap<string, Recording>;
  readonly #told = new Map<string, Told>();
  /** Recordings after the events were read, once they are needed. */
  #later: Promise<ReadonlyMap<string, Recording>> | undefined;

  private constructor(session: Session, stored: readonly Recording[]) {
    this.#session = session;
    this.#stored = byID(stored);
  }

  /** Lists the recordings. Events are read after it: each recording that has ended has its event then. @throws CommandError */
  static async begin(session: Session): Promise<RecordingProof> {
    const { items, scope } = await readRecordings({}, Number.POSITIVE_INFINITY, session);
    if (scope === 'Own') throw new CommandError('you may not list recordings.auth.platform.io');
    return new RecordingProof(session, items);
  }

  /** Takes an event whose place in the chain is verified. */
  saw(value: unknown): void {
    const { data: event } = eventSchema.safeParse(value);
    if (event === undefined) return;
    const id = event.source === 'door' ? event.connection?.recording : event.objectRef.name;
    if (id === undefined) return;
    const isRemoval = event.source === 'service' && (event.event === 'RecordingDeleted' || event.event === 'RecordingExpired');
    const isAttempt = event.source === 'service' && event.event === 'DeleteRecording';
    if (event.source !== 'door' && !isRemoval && !isAttempt) return;
    const told = this.#told.get(id) ?? {};
    this.#told.set(id, told);
    if (isRemoval) told.removal = event;
    else if (isAttempt) told.attempt = event;
    else told.shell = event;
    if (event.source === 'door' && event.stage === 'ResponseComplete') told.end = event;
  }

  /** Reads the recordings, and prints those that are not proven. Returns the number of those that contradict their events. */
  async verify(): Promise<number> {
    const { terminal } = this.#session;
    const counts: Record<State, number> = { verified: 0, changed: 0, unended: 0, unproven: 0, deleted: 0, expired: 0, gone: 0 };
    for (const id of new Set([...this.#told.keys(), ...this.#stored.keys()])) {
      const { state, said } = await this.#check(id);
      counts[state] += 1;
      if (said !== undefined) terminal.stdout.write(`${harmless(`Recording ${id}${this.#about(id)}: ${said}`)}\n`);
    }
    const shown = (Object.keys(titles) as State[]).filter((state) => state === 'verified' || counts[state] > 0);
    terminal.stdout.write(`Recordings: ${shown.map((state) => `${counts[state]} ${titles[state]}`).join(', ')}\n`);
    return counts.changed;
  }

  async #check(id: string): Promise<Checked> {
    const { shell, end, removal, attempt } = this.#told.get(id) ?? {};
    const listed = this.#stored.get(id);
    if (removal !== undefined) {
      // The list is older than the events.
      const isThere = listed !== undefined && (await this.#digestOf(id)) !== undefined;
      if (isThere) return { state: 'changed', said: `is there, although it was ${removedBy(removal)}` };
      return removal.event === 'RecordingExpired' ? { state: 'expired' } : { state: 'deleted', said: `was ${removedBy(removal)}` };
    }
    const stored = listed ?? (end && (await this.#storedLater(id)));
    if (stored === undefined && attempt !== undefined)
      return {
        state: 'deleted',
        said: `is missing since ${attempt.user?.username} asked for its deletion, ${attempt.requestReceivedTimestamp}`,
      };
    if (stored === undefined)
      return end === undefined
        ? { state: 'unended', said: 'has no end and no output: its shell has just begun, or its replica was killed' }
        : { state: 'changed', said: 'is missing, and no event tells of its deletion' };
    if (shell !== undefined && !isOf(stored, shell)) return { state: 'changed', said: 'belongs to another shell than its event says' };
    const recorded = end?.connection?.recorded;
    if (recorded === undefined)
      return stored.endedAt === undefined && end === undefined
        ? { state: 'unended', said: 'has no end: its shell runs, or its replica was killed' }
        : { state: 'unproven', said: 'has no event that tells its digest' };
    return this.#compare(id, recorded);
  }

  /** Compares the output with its digest. */
  async #compare(id: string, recorded: { sha256: string; bytes: number }): Promise<Checked> {
    const read = await this.#digestOf(id);
    if (read?.sha256 === recorded.sha256) return { state: 'verified' };
    // A removal may have cut the answer off.
    if (read === undefined || (await this.#digestOf(id)) === undefined)
      return { state: 'gone', said: 'was removed during the check: check again for the event of it' };
    return read.bytes < recorded.bytes
      ? { state: 'changed', said: `has ${read.bytes} of ${recorded.bytes} bytes: it was cut, or the audit store does not have all of it` }
      : { state: 'changed', said: 'was changed' };
  }

  /** Returns a recording that began after the first list. */
  async #storedLater(id: string): Promise<Recording | undefined> {
    this.#later ??= readRecordings({}, Number.POSITIVE_INFINITY, this.#session).then(({ items }) => byID(items));
    return (await this.#later).get(id);
  }

  #about(id: string): string {
    const { shell } = this.#told.get(id) ?? {};
    const user = shell?.user ?? this.#stored.get(id)?.user;
    const { namespace, name } = shell?.objectRef ?? this.#stored.get(id)?.objectRef ?? {};
    return name === undefined ? '' : ` of ${user?.username} in ${namespace}/${name}`;
  }

  /** Returns the digest of the lines after the first one; undefined for a recording that does not exist. */
  async #digestOf(id: string): Promise<{ sha256: string; bytes: number } | undefined> {
    const digest = createHash('sha256');
    let [bytes, isHead] = [0, true];
    try {
      for await (const chunk of readRecording(id, this.#session)) {
        const lines = isHead ? chunk.subarray(chunk.indexOf(newline) + 1) : chunk;
        if (isHead && !chunk.includes(newline)) continue;
        isHead = false;
        digest.update(lines);
        bytes += lines.byteLength;
      }
    } catch (error) {
      if (error instanceof CommandError && error.status === 404) return undefined;
      throw error;
    }
    return { sha256: digest.digest('hex'), bytes };
  }
}

const byID = (recordings: readonly Recording[]): ReadonlyMap<string, Recording> =>
  new Map(recordings.map((recording) => [recording.id, recording]));

const newline = 10;

const removedBy = ({ event, user, requestReceivedTimestamp: at }: Event): string =>
  event === 'RecordingExpired' ? `removed by the retention, ${at}` : `deleted by ${user?.username}, ${at}`;

/** Reports whether a recording is that of the shell of an event. */
function isOf({ user, objectRef, container, command, requestID }: Recording, shell: Event): boolean {
  const { namespace, name, subresource } = shell.objectRef;
  const told = [
    shell.user?.username,
    namespace,
    name,
    subresource,
    shell.connection?.container,
    shell.connection?.command,
    shell.requestID,
  ];
  const stored = [user.username, objectRef.namespace, objectRef.name, objectRef.subresource, container, command, requestID];
  return JSON.stringify(told) === JSON.stringify(stored);
}
