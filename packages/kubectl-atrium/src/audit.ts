/** `audit`: asks the service who did what. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import type { Session } from './access.ts';
import { linesOf } from './lines.ts';
import { recordNamed } from './record-name.ts';
import { resourceNamed } from './resource-names.ts';
import { askService, readService } from './service.ts';
import { shellLine } from './shell-line.ts';
import { table } from './table.ts';
import { CommandError, harmless, harmlessLines, jsonText, say } from './terminal.ts';

/** Conditions of a question. */
export interface AuditConditions {
  namespace?: string;
  who?: string;
  /** User whose events they are, by the record or the e-mail address. */
  user?: string;
  group?: string;
  token?: string;
  session?: string;
  verb?: string;
  action?: string;
  /** Resource and name, such as `deploy/storefront`, or the resource alone. */
  object?: string;
  subresource?: string;
  text?: string;
  /** Seconds. */
  since?: number;
  /** Seconds. */
  until?: number;
  failed?: true;
  context?: string;
}

export interface AuditOptions extends AuditConditions {
  limit?: number;
  follow?: true;
  output?: 'json' | 'csv';
}

const placeAndEnd = { namespaces: z.optional(z.array(z.string())), until: z.optional(z.string()) };

const eventSchema = z.looseObject({
  auditID: z.string(),
  verb: z.string(),
  event: z.optional(z.string()),
  action: z.optional(z.string()),
  outcome: z.string(),
  user: z.optional(z.looseObject({ username: z.string() })),
  impersonatedUser: z.optional(z.looseObject({ username: z.string() })),
  sourceIPs: z.array(z.string()),
  objectRef: z.looseObject({
    apiGroup: z.string(),
    resource: z.string(),
    subresource: z.optional(z.string()),
    namespace: z.optional(z.string()),
    name: z.optional(z.string()),
  }),
  requestReceivedTimestamp: z.string(),
  connection: z.optional(z.looseObject({ container: z.optional(z.string()), command: z.optional(z.array(z.string())) })),
  changes: z.optional(z.array(z.looseObject({ field: z.string(), from: z.optional(z.number()), to: z.number() }))),
  grant: z.optional(z.looseObject({ role: z.string(), subjects: z.array(z.string()), ...placeAndEnd })),
  access: z.optional(z.looseObject({ role: z.string(), requester: z.string(), ...placeAndEnd })),
  responseStatus: z.optional(z.looseObject({ code: z.number() })),
  dryRun: z.optional(z.boolean()),
});
const listSchema = z.looseObject({
  metadata: z.looseObject({ continue: z.optional(z.string()), resourceVersion: z.optional(z.string()) }),
  scope: z.enum(['All', 'Own']),
  items: z.array(eventSchema),
});
type Event = z.infer<typeof eventSchema>;

/** Conditions, as parameters of the service. */
type Question = Readonly<Record<string, string>>;

const usualLimit = 100;
const pageSize = 500;
/** Pause before a further attempt, and the number of attempts without an answer. */
const [pauseMs, maxFailures] = [2_000, 30];

/** Prints events, the newest last, and those that follow with `--follow`. @throws CommandError */
export async function printAudit(options: AuditOptions, session: Session): Promise<void> {
  const { terminal } = session;
  const question = await questionOf(options, session);
  if (options.output === 'csv') return await printTable(question, options, session);
  const { items, scope, isPart, begin } = await readEvents(question, options.limit ?? usualLimit, session);
  sayScope(scope, session);
  if (isPart) say(terminal, `There are older events: the list has the newest ${items.length}.`);
  print(items, options, session, true);
  if (options.follow) await follow(begin, options, { question, session });
}

/** Tells a user who may not list audits whose events were asked for. */
export function sayScope(scope: 'All' | 'Own', { terminal }: Session): void {
  if (scope === 'Own') say(terminal, 'The list has your own events only: you may not list audits.auth.platform.io here.');
}

/** Prints events as CSV, the newest first. */
async function printTable(question: Question, { limit, follow }: AuditOptions, session: Session): Promise<void> {
  if (follow) throw new CommandError('--follow prints a table or JSON, and no CSV');
  const { wanted, terminal } = session;
  // The answer to a small question says whose events they are, or why there are none.
  sayScope((await readEvents(question, 1, session)).scope, session);
  const query = new URLSearchParams({ ...question, format: 'csv', ...(limit !== undefined && { limit: String(limit) }) });
  for await (const line of linesOf(readService(`/auth/v1/audit/export?${query}`, wanted, terminal)))
    terminal.stdout.write(`${harmlessLines(line.replace(/\r$/, ''))}\r\n`);
}

/** Prints events as they arrive. After an interruption it resumes behind the last one. */
async function follow(
  begin: string | undefined,
  options: AuditOptions,
  { question, session }: { question: Question; session: Session },
): Promise<void> {
  const { terminal, wanted } = session;
  let [place, hasBegun] = [begin, false];
  for (let failures = 0; ; failures += 1) {
    const query = new URLSearchParams({ ...question, watch: 'true', ...(place !== undefined && { resourceVersion: place }) });
    try {
      const lines = linesOf(readService(`/auth/v1/audit?${query}`, wanted, terminal, { accept: 'text/event-stream' }));
      for await (const { type, id, object } of streamed(lines)) {
        [hasBegun, failures] = [true, 0];
        if (type === 'ADDED') print([eventSchema.parse(object)], options, session, false);
        place = type === 'ERROR' ? placeAfter(errorSchema.parse(object), place, terminal) : (id ?? place);
      }
      if (!hasBegun) throw new CommandError('the service has no live lists: use --since without --follow');
    } catch (error) {
      terminal.signal.throwIfAborted();
      if (!hasBegun || failures >= maxFailures || error instanceof Refused) throw error;
    }
    await sleep(pauseMs, undefined, { signal: terminal.signal }).catch(() => terminal.signal.throwIfAborted());
  }
}

const streamedSchema = z.looseObject({ type: z.string(), object: z.unknown() });
const errorSchema = z.looseObject({ code: z.number(), message: z.string() });

/** Returns the events of a stream of server-sent events, each with its id. */
async function* streamed(lines: AsyncIterable<string>): AsyncGenerator<z.infer<typeof streamedSchema> & { id: string | undefined }> {
  let id: string | undefined;
  for await (const line of lines) {
    if (line.startsWith('id: ')) id = line.slice('id: '.length);
    if (!line.startsWith('data: ')) continue;
    yield { ...streamedSchema.parse(JSON.parse(line.slice('data: '.length))), id };
    id = undefined;
  }
}

/** The service ended the list, and would again. */
class Refused extends CommandError {}

/** Returns the place to resume at after an error of the service: the list begins now if its events are not known any more. */
function placeAfter({ code, message }: z.infer<typeof errorSchema>, place: string | undefined, terminal: Session['terminal']) {
  if (code === 401) return place;
  if (code !== 410) throw new Refused(harmless(message));
  say(terminal, `Some events may be missing here: ${harmless(message)}`);
  return undefined;
}

/** Reads the newest events, in the order of their times, and the place after which later ones arrive. */
async function readEvents(question: Question, atMost: number, { wanted, terminal }: Session) {
  const newestFirst: Event[] = [];
  let begin: string | undefined;
  for (let place: string | undefined; ; ) {
    const limit = String(Math.min(pageSize, atMost - newestFirst.length));
    const query = new URLSearchParams({ ...question, limit, ...(place !== undefined && { continue: place }) });
    const path = `/auth/v1/audit?${query.toString()}`;
    const { data } = listSchema.safeParse(await askService({ method: 'GET', path }, wanted, terminal));
    if (data === undefined) throw new CommandError('the service answered with no list');
    newestFirst.push(...data.items);
    begin ??= data.metadata.resourceVersion;
    place = data.metadata.continue;
    const isPart = place !== undefined;
    if (!isPart || newestFirst.length >= atMost) return { items: newestFirst.reverse(), scope: data.scope, isPart, begin };
  }
}

function print(events: readonly Event[], { output, follow: isFollowed }: AuditOptions, { terminal }: Session, isFirst: boolean): void {
  if (output === 'json' && isFollowed) for (const event of events) terminal.stdout.write(jsonText(event));
  else if (output === 'json') terminal.stdout.write(jsonText({ items: events }, 2));
  else if (isFirst || events.length > 0) terminal.stdout.write(table([...(isFirst ? [titles] : []), ...events.map(rowOf)]));
}

const titles = ['TIME', 'USER', 'VERB', 'OBJECT', 'NAMESPACE', 'CODE', 'FROM', 'CONTAINER', 'DETAILS'];

/** A refused login has no user that is known. Without a user, the service itself did the rest, as in the console. */
const rowOf = ({
  requestReceivedTimestamp,
  user,
  impersonatedUser,
  verb,
  action = verb,
  event = action,
  objectRef,
  outcome,
  responseStatus,
  dryRun,
  sourceIPs,
  ...facts
}: Event): string[] => [
  requestReceivedTimestamp,
  `${user?.username ?? (outcome === 'failure' ? '<unknown>' : 'Atrium')}${impersonatedUser ? ` as ${impersonatedUser.username}` : ''}`,
  event,
  objectOf(objectRef),
  objectRef.namespace ?? '',
  `${responseStatus?.code ?? outcome}${dryRun ? ' (dry run)' : ''}`,
  sourceIPs.join(','),
  facts.connection?.container ?? '',
  detailsOf(facts),
];

/** Returns the command of a shell, numbers that a write changed, and who was given which role. */
function detailsOf({ connection, changes = [], grant, access }: Pick<Event, 'connection' | 'changes' | 'grant' | 'access'>): string {
  const given = grant ?? (access && { ...access, subjects: [access.requester] });
  return [
    shellLine(connection?.command ?? []),
    ...changes.map(({ field, from, to }) => (from === undefined ? `${field}: ${to}` : `${field}: ${from} to ${to}`)),
    given && `${given.role} for ${given.subjects.join(', ')}`,
    given?.namespaces && `in ${given.namespaces.join(', ')}`,
    given?.until && `until ${given.until}`,
  ]
    .filter(Boolean)
    .join(' ');
}

export const objectOf = ({
  apiGroup,
  resource,
  subresource,
  name,
}: Pick<Event['objectRef'], 'apiGroup' | 'resource' | 'subresource' | 'name'>): string =>
  [apiGroup === '' ? resource : `${resource}.${apiGroup}`, name, subresource].filter(Boolean).join('/');

const timeBefore = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString();

export async function questionOf(
  { namespace, who, user, group, token, session, verb, action, object, subresource, text, since, until, failed, context }: AuditConditions,
  { terminal }: Session,
): Promise<Question> {
  const [type = '', name] = object?.split('/') ?? [];
  return {
    ...(object !== undefined && { ...(await resourceNamed(type, context, terminal)) }),
    ...(name && { name }),
    ...(namespace && { namespace }),
    ...(who && { actor: who }),
    ...(user && { user: recordNamed(user) }),
    ...(group && { actorGroup: group }),
    ...(token && { accessToken: token }),
    ...(session && { session }),
    ...(subresource && { subresource }),
    ...(text && { text }),
    ...(verb && { verb }),
    ...(action && { action }),
    ...(failed && { outcome: 'failure' }),
    ...(since !== undefined && { from: timeBefore(since) }),
    ...(until !== undefined && { to: timeBefore(until) }),
  };
}
