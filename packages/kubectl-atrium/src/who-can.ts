/** `who-can`: asks the service who may do something. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as z from 'zod/mini';
import type { Wanted } from './kept-login.ts';
import { askService } from './service.ts';
import { table } from './table.ts';
import { CommandError, harmless, jsonText, say, type Terminal } from './terminal.ts';

export interface WhoCanOptions {
  namespace?: string;
  /** Name of an object. */
  name?: string;
  output?: 'json';
  context?: string;
}

const named = z.object({ kind: z.string(), name: z.string(), namespace: z.optional(z.string()) });
const item = z.looseObject({ subject: named, memberOf: z.optional(z.string()), binding: named, role: named });
const pageSchema = z.object({ complete: z.boolean(), notes: z.array(z.string()), total: z.number(), items: z.array(item) });
type Item = z.infer<typeof item>;

const pageSize = 500;

const warnings: Readonly<Record<string, string>> = {
  ClusterWideHidden: 'More may: you may not list clusterrolebindings.',
  MembersHidden: 'Members of the groups are not listed: you may not get users/roles.',
};

/** Prints the users, groups and ServiceAccounts that may do something, or the JSON of them. @throws CommandError */
export async function whoCan(verb: string, what: string, options: WhoCanOptions, wanted: Wanted, terminal: Terminal): Promise<void> {
  const question = await questionOf(verb, what, options, terminal);
  const items: Item[] = [];
  for (let page = 1; ; page += 1) {
    const query = new URLSearchParams({ ...question, limit: String(pageSize), page: String(page) });
    const path = `/auth/v1/accesssubjects?${query.toString()}`;
    const { data } = pageSchema.safeParse(await askService({ method: 'GET', path }, wanted, terminal));
    if (data === undefined) throw new CommandError('the service answered with no list');
    items.push(...data.items);
    if (data.items.length > 0 && items.length < data.total) continue;
    print({ complete: data.complete, notes: data.notes, items }, options, terminal);
    return;
  }
}

function print(
  { complete, notes, items }: { complete: boolean; notes: readonly string[]; items: readonly Item[] },
  { output }: WhoCanOptions,
  terminal: Terminal,
): void {
  if (output === 'json') {
    terminal.stdout.write(jsonText({ complete, notes, items }, 2));
    return;
  }
  terminal.stdout.write(table([['SUBJECT', 'THROUGH', 'BINDING', 'ROLE'], ...items.map(rowOf)]));
  for (const note of notes) if (warnings[note] !== undefined) say(terminal, warnings[note]);
}

const rowOf = ({ subject, memberOf, binding, role }: Item): string[] => [
  `${subject.kind}/${nameOf(subject)}`,
  memberOf === undefined ? '' : `Group/${memberOf}`,
  `${binding.kind}/${nameOf(binding)}`,
  role.name,
];

const nameOf = ({ namespace, name }: z.infer<typeof named>): string => (namespace ? `${namespace}/${name}` : name);

/** Returns the query. @throws CommandError for a resource of an unknown group */
async function questionOf(
  verb: string,
  what: string,
  { namespace, name, context }: WhoCanOptions,
  terminal: Terminal,
): Promise<Record<string, string>> {
  if (what.startsWith('/')) return { verb, path: what };
  const [qualified = '', subresource] = what.split('/');
  const at = qualified.indexOf('.');
  const { resource, group } =
    at < 0 ? await knownResource(qualified, context, terminal) : { resource: qualified.slice(0, at), group: qualified.slice(at + 1) };
  return { verb, resource, group, ...(subresource && { subresource }), ...(namespace && { namespace }), ...(name && { name }) };
}

/** Returns the first resource of that name, as kubectl finds it. */
async function knownResource(name: string, context: string | undefined, { environment, signal }: Terminal) {
  const args = ['api-resources', '--cached', '--output=name', ...(context === undefined ? [] : [`--context=${context}`])];
  const run = promisify(execFile);
  const { stdout } = await run('kubectl', args, { env: { ...environment }, timeout: 10_000, signal }).catch(() => ({ stdout: '' }));
  const found = stdout.split('\n').find((line) => line === name || line.startsWith(`${name}.`));
  if (found === undefined)
    throw new CommandError(`the API group of ${harmless(name)} is unknown: write RESOURCE.GROUP, or "RESOURCE." for the core group`);
  return { resource: name, group: found.slice(name.length + 1) };
}
