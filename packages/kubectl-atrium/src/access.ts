/** `access …`: asks the service for a role for a while, and decides on requests of others. */
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import type { Wanted } from './kept-login.ts';
import { askService } from './service.ts';
import { table } from './table.ts';
import { CommandError, harmless, jsonText, RequestPending, say, type Terminal } from './terminal.ts';

export interface OutputOptions {
  output?: 'json';
}

export interface RequestOptions extends OutputOptions {
  namespace?: string[];
  for: number;
  reason?: string;
  policy?: string;
  ticket?: string;
  breakGlass?: true;
  wait?: true;
}

export interface ListOptions extends OutputOptions {
  inbox?: true;
  watch?: true;
}

/** Parts of a call that every command has. */
export interface Session {
  readonly wanted: Wanted;
  readonly terminal: Terminal;
}

const policies = '/auth/v1/accesspolicies';
const requests = '/auth/v1/accessrequests';
const pollMs = 2_000;

const scopeSchema = z.object({
  cluster: z.optional(z.boolean()),
  namespaces: z.optional(z.object({ names: z.optional(z.array(z.string())) })),
});
const policySchema = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ roleRefs: z.array(z.string()), scope: scopeSchema, maxSeconds: z.number(), approvals: z.number() }),
});
const requestSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ requester: z.string(), roleRef: z.string(), namespaces: z.optional(z.array(z.string())) }),
  status: z.optional(z.looseObject({ phase: z.optional(z.string()), until: z.optional(z.string()), reason: z.optional(z.string()) })),
});
const metadataSchema = z.looseObject({ continue: z.optional(z.string()) });
type Policy = z.infer<typeof policySchema>;
type Request = z.infer<typeof requestSchema>;

const phaseOf = ({ status }: Request): string => status?.phase ?? 'Pending';
const isUndecided = (request: Request): boolean => ['Pending', 'Approving'].includes(phaseOf(request));
const isGiven = (request: Request): boolean => ['Active', 'Scheduled'].includes(phaseOf(request));

/** Prints the policies that let the user ask. @throws CommandError */
export async function listPolicies({ output }: OutputOptions, session: Session): Promise<void> {
  const found = await readList(policies, policySchema, session);
  if (output === 'json') return printJson(found, session);
  const rows = found.items.map(({ metadata, spec }) => [
    metadata.name,
    spec.roleRefs.join(','),
    placesOf(spec.scope),
    durationText(spec.maxSeconds),
    String(spec.approvals),
  ]);
  session.terminal.stdout.write(table([['NAME', 'ROLES', 'PLACES', 'MAX', 'APPROVALS'], ...rows]));
}

/** Asks for a role, and waits for the access if the user wants so. @throws CommandError, RequestPending */
export async function requestAccess(role: string, options: RequestOptions, session: Session): Promise<void> {
  const { namespace, reason, ticket, breakGlass } = options;
  const body = {
    policy: options.policy ?? (await policyFor(role, namespace, session)),
    roleRef: role,
    scope: namespace === undefined ? 'platform' : 'namespace',
    ...(namespace && { namespaces: namespace }),
    ...(reason !== undefined && { reason }),
    ...(ticket !== undefined && { ticket }),
    ...(breakGlass && { breakGlass }),
    durationSeconds: options.for,
  };
  let request = await ask('POST', requests, session, body);
  if (options.wait && isUndecided(request)) {
    say(session.terminal, `${request.metadata.name} waits for approval.`);
    while (isUndecided(request)) {
      await sleep(pollMs, undefined, { signal: session.terminal.signal }).catch(() => session.terminal.signal.throwIfAborted());
      request = await ask('GET', pathOf(request.metadata.name), session);
    }
  }
  report(request, options, session);
  if (isUndecided(request)) throw new RequestPending();
  const outcome = [`the request is ${phaseOf(request)}`, request.status?.reason].filter(Boolean).join(': ');
  if (!isGiven(request)) throw new CommandError(harmless(outcome));
}

/** Prints requests: those of the user and those that the user may see; with `--inbox` those that wait for the user. @throws CommandError */
export async function listRequests({ inbox, watch, output }: ListOptions, session: Session): Promise<void> {
  const path = `${requests}${inbox ? '?inbox=true' : ''}`;
  const found = await readList(path, requestSchema, session);
  if (output === 'json') printJson(found, session);
  else session.terminal.stdout.write(table([['NAME', 'REQUESTER', 'ROLE', 'PLACES', 'PHASE', 'UNTIL'], ...found.items.map(rowOf)]));
  const { signal, stdout } = session.terminal;
  let shown = new Map(found.items.map((request) => [request.metadata.name, JSON.stringify(request)]));
  while (watch) {
    await sleep(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    const { items } = await readList(path, requestSchema, session);
    const changed = items.filter((request) => shown.get(request.metadata.name) !== JSON.stringify(request));
    for (const request of changed) stdout.write(output === 'json' ? jsonText(request) : table([rowOf(request)]));
    shown = new Map(items.map((request) => [request.metadata.name, JSON.stringify(request)]));
  }
}

/** Approves or denies a request. @throws CommandError; RequestPending if further approvals are needed */
export async function decideRequest(
  name: string,
  { approve, comment, ...options }: OutputOptions & { approve: boolean; comment?: string },
  session: Session,
): Promise<void> {
  const request = await ask('POST', `${pathOf(name)}/decision`, session, { approve, ...(comment !== undefined && { comment }) });
  report(request, options, session);
  if (isUndecided(request)) throw new RequestPending();
}

/** Ends a request, or its access. @throws CommandError */
export async function endRequest(name: string, options: OutputOptions, session: Session): Promise<void> {
  report(await ask('POST', `${pathOf(name)}/end`, session), options, session);
}

/** Reviews break-glass. @throws CommandError */
export async function reviewRequest(
  name: string,
  { comment, ...options }: OutputOptions & { comment?: string },
  session: Session,
): Promise<void> {
  report(await ask('POST', `${pathOf(name)}/review`, session, comment === undefined ? {} : { comment }), options, session);
}

const pathOf = (name: string): string => `${requests}/${encodeURIComponent(name)}`;

async function ask(method: 'GET' | 'POST', path: string, { wanted, terminal }: Session, body?: object): Promise<Request> {
  const { data } = requestSchema.safeParse(await askService({ method, path, ...(body && { body }) }, wanted, terminal));
  if (data === undefined) throw new CommandError('the service answered with no request');
  return data;
}

async function readList<Item>(path: string, item: z.ZodMiniType<Item>, { wanted, terminal }: Session): Promise<{ items: Item[] }> {
  const list = z.looseObject({ metadata: metadataSchema, items: z.array(item) });
  const { data } = list.safeParse(await askService({ method: 'GET', path }, wanted, terminal));
  if (data === undefined) throw new CommandError('the service answered with no list');
  if (data.metadata.continue) say(terminal, 'The list is not complete: there are more than the service shows at once.');
  return data;
}

/** Returns the only policy that gives the role there. @throws CommandError */
async function policyFor(role: string, namespaces: readonly string[] | undefined, session: Session): Promise<string> {
  const { items } = await readList(policies, policySchema, session);
  const fitting = items.filter(({ spec }) => spec.roleRefs.includes(role) && covers(spec.scope, namespaces));
  const [first, ...others] = fitting.map(({ metadata }) => metadata.name);
  if (first === undefined) throw new CommandError(`no policy lets you ask for ${harmless(role)} there: see kubectl atrium access policies`);
  if (others.length > 0)
    throw new CommandError(`several policies give that role: choose by --policy ${[first, ...others].map(harmless).join(', ')}`);
  return first;
}

/** Reports whether a policy may cover the namespaces. The service knows those that a selector covers. */
function covers({ cluster, namespaces }: Policy['spec']['scope'], names: readonly string[] | undefined): boolean {
  if (cluster) return true;
  const { names: covered } = namespaces ?? {};
  return names !== undefined && (covered === undefined || names.every((name) => covered.includes(name)));
}

const placesOf = ({ cluster, namespaces }: Policy['spec']['scope']): string =>
  cluster ? 'platform' : (namespaces?.names?.join(',') ?? 'by label');

function durationText(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 86_400}d`;
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${Math.floor(seconds / 60)}m`;
}

const rowOf = (request: Request): string[] => [
  request.metadata.name,
  request.spec.requester,
  request.spec.roleRef,
  request.spec.namespaces?.join(',') ?? 'platform',
  phaseOf(request),
  request.status?.until ?? '',
];

function report(request: Request, { output }: OutputOptions, session: Session): void {
  if (output === 'json') {
    printJson(request, session);
    return;
  }
  const { until } = request.status ?? {};
  const end = until !== undefined && isGiven(request) ? ` until ${until}` : '';
  session.terminal.stdout.write(`${harmless(`${request.metadata.name} ${phaseOf(request)}${end}`)}\n`);
}

const printJson = (value: unknown, { terminal }: Session): void => {
  terminal.stdout.write(jsonText(value, 2));
};
