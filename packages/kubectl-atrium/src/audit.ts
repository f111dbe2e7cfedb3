/** `audit`: asks the service who did what. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import type { Session } from './access.ts';
import { linesOf } from './lines.ts';
import { resourceNamed } from './resource-names.ts';
import { askService, readService } from './service.ts';
import { table } from './table.ts';
import { CommandError, harmlessLines, jsonText, say } from './terminal.ts';

export interface AuditOptions {
  namespace?: string;
  who?: string;
  group?: string;
  token?: string;
  session?: string;
  verb?: string;
  /** Resource and name, such as `deploy/storefront`, or the resource alone. */
  object?: string;
  subresource?: string;
  text?: string;
  /** Seconds. */
  since?: number;
  failed?: true;
  limit?: number;
  follow?: true;
  output?: 'json' | 'csv';
  context?: string;
}

const eventSchema = z.looseObject({
  auditID: z.string(),
  verb: z.string(),
  event: z.optional(z.string()),
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
  responseStatus: z.optional(z.looseObject({ code: z.number() })),
  dryRun: z.optional(z.boolean()),
});
const listSchema = z.looseObject({
  metadata: z.looseObject({ continue: z.optional(z.string()) }),
  scope: z.enum(['All', 'Own']),
  items: z.array(eventSchema),
});
type Event = z.infer<typeof eventSchema>;

/** Conditions, as parameters of the service. */
type Question = Readonly<Record<string, string>>;

const usualLimit = 100;
const pageSize = 500;
const pollMs = 2_000;

/** Prints events, the newest last, and those that follow with `--follow`. @throws CommandError */
export async function printAudit(options: AuditOptions, session: Session): Promise<void> {
  const { terminal } = session;
  const question = await questionOf(options, session);
  if (options.output === 'csv') return await printTable(question, options, session);
  const { items, scope, isPart } = await readEvents(question, options.limit ?? usualLimit, session);
  sayScope(scope, session);
  if (isPart) say(terminal, `There are older events: the list has the newest ${items.length}.`);
  print(items, options, session, true);
  if (options.follow) await follow(items, options, { question, session });
}

function sayScope(scope: 'All' | 'Own', { terminal }: Session): void {
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

/** Prints events as they appear. Events can arrive late, so that the last minute is read again. */
async function follow(
  shown: readonly Event[],
  options: AuditOptions,
  { question, session }: { question: Question; session: Session },
): Promise<void> {
  const { signal } = session.terminal;
  let known = new Set(shown.map(({ auditID }) => auditID));
  let newest = shown.at(-1)?.requestReceivedTimestamp ?? new Date().toISOString();
  for (;;) {
    await sleep(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    const from = new Date(Date.parse(newest) - lateMs).toISOString();
    const { items } = await readEvents({ ...question, from }, Number.POSITIVE_INFINITY, session);
    print(
      items.filter(({ auditID }) => !known.has(auditID)),
      options,
      session,
      false,
    );
    known = new Set([...items.map(({ auditID }) => auditID), ...(items.length === 0 ? known : [])]);
    newest = items.at(-1)?.requestReceivedTimestamp ?? newest;
  }
}

const lateMs = 60_000;

/** Reads the newest events, in the order of their times. */
async function readEvents(question: Question, atMost: number, { wanted, terminal }: Session) {
  const newestFirst: Event[] = [];
  for (let place: string | undefined; ; ) {
    const limit = String(Math.min(pageSize, atMost - newestFirst.length));
    const query = new URLSearchParams({ ...question, limit, ...(place !== undefined && { continue: place }) });
    const path = `/auth/v1/audit?${query.toString()}`;
    const { data } = listSchema.safeParse(await askService({ method: 'GET', path }, wanted, terminal));
    if (data === undefined) throw new CommandError('the service answered with no list');
    newestFirst.push(...data.items);
    place = data.metadata.continue;
    const isPart = place !== undefined;
    if (!isPart || newestFirst.length >= atMost) return { items: newestFirst.reverse(), scope: data.scope, isPart };
  }
}

function print(events: readonly Event[], { output, follow: isFollowed }: AuditOptions, { terminal }: Session, isFirst: boolean): void {
  if (output === 'json' && isFollowed) for (const event of events) terminal.stdout.write(jsonText(event));
  else if (output === 'json') terminal.stdout.write(jsonText({ items: events }, 2));
  else if (isFirst || events.length > 0) terminal.stdout.write(table([...(isFirst ? [titles] : []), ...events.map(rowOf)]));
}

const titles = ['TIME', 'USER', 'VERB', 'OBJECT', 'NAMESPACE', 'CODE', 'FROM'];

/** A refused login has no user that is known. Without a user, the service itself did the rest, as in the console. */
const rowOf = ({
  requestReceivedTimestamp,
  user,
  impersonatedUser,
  verb,
  event = verb,
  objectRef,
  outcome,
  responseStatus,
  dryRun,
  sourceIPs,
}: Event): string[] => [
  requestReceivedTimestamp,
  `${user?.username ?? (outcome === 'failure' ? '<unknown>' : 'Atrium')}${impersonatedUser ? ` as ${impersonatedUser.username}` : ''}`,
  event,
  objectOf(objectRef),
  objectRef.namespace ?? '',
  `${responseStatus?.code ?? outcome}${dryRun ? ' (dry run)' : ''}`,
  sourceIPs.join(','),
];

const objectOf = ({ apiGroup, resource, subresource, name }: Event['objectRef']): string =>
  [apiGroup === '' ? resource : `${resource}.${apiGroup}`, name, subresource].filter(Boolean).join('/');

async function questionOf(
  { namespace, who, group, token, session, verb, object, subresource, text, since, failed, context }: AuditOptions,
  { terminal }: Session,
): Promise<Question> {
  const [type = '', name] = object?.split('/') ?? [];
  return {
    ...(object !== undefined && { ...(await resourceNamed(type, context, terminal)) }),
    ...(name && { name }),
    ...(namespace && { namespace }),
    ...(who && { actor: who }),
    ...(group && { actorGroup: group }),
    ...(token && { accessToken: token }),
    ...(session && { session }),
    ...(subresource && { subresource }),
    ...(text && { text }),
    ...(verb && { verb }),
    ...(failed && { outcome: 'failure' }),
    ...(since !== undefined && { from: new Date(Date.now() - since * 1000).toISOString() }),
  };
}
