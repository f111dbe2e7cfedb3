/** `who-can`: asks the service who may do something. */
import * as z from 'zod/mini';
import type { Wanted } from './kept-login.ts';
import { resourceNamed } from './resource-names.ts';
import { askService } from './service.ts';
import { table } from './table.ts';
import { CommandError, jsonText, say, type Terminal } from './terminal.ts';

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
    const isWhole = data.complete && items.length >= data.total;
    print({ complete: isWhole, notes: data.notes, items }, options, terminal);
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
  const told = notes.flatMap((note) => warnings[note] ?? []);
  for (const warning of !complete && told.length === 0 ? ['The list is not complete.'] : told) say(terminal, warning);
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
  const { resource, group } = await resourceNamed(qualified, context, terminal);
  return { verb, resource, group, ...(subresource && { subresource }), ...(namespace && { namespace }), ...(name && { name }) };
}
