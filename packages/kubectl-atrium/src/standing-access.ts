/** `audit standing-access`: asks the service who holds which role for good, and when it was last used. */
import * as z from 'zod/mini';
import type { Session } from './access.ts';
import { askService } from './service.ts';
import { table } from './table.ts';
import { CommandError, jsonText, say } from './terminal.ts';

export interface StandingOptions {
  namespace?: string;
  name?: string;
  role?: string;
  days?: number;
  all?: true;
  limit?: number;
  output?: 'json';
}

const named = z.looseObject({ kind: z.string(), name: z.string(), namespace: z.optional(z.string()) });
const objectRef = z.looseObject({ resource: z.string(), subresource: z.optional(z.string()), name: z.optional(z.string()) });
const use = z.looseObject({
  state: z.string(),
  reason: z.optional(z.string()),
  since: z.optional(z.string()),
  users: z.optional(z.number()),
  last: z.optional(z.looseObject({ user: z.string(), verb: z.string(), requestReceivedTimestamp: z.string(), objectRef })),
});
const item = z.looseObject({ severity: z.string(), binding: named, role: named, subjects: z.array(named), people: z.number(), use });
const listSchema = z.looseObject({
  ...{ notes: z.array(z.string()), from: z.string(), total: z.number(), items: z.array(item) },
  directRequests: z.optional(z.string()),
});
type Item = z.infer<typeof item>;

const pageSize = 50;
const usualLimit = 100;

const warnings: Readonly<Record<string, string>> = {
  ClusterWideHidden: 'Bindings of the cluster are missing: you may not list clusterrolebindings.',
  MembersHidden: 'Members of groups are not counted: you may not get users/roles.',
};

/** Prints bindings that hold for good, the highest severity first. @throws CommandError */
export async function printStanding({ limit = usualLimit, output, ...asked }: StandingOptions, session: Session) {
  const { namespace, name, role, days, all } = asked;
  const { wanted, terminal } = session;
  const items: Item[] = [];
  for (let page = 1; ; page += 1) {
    const query = new URLSearchParams({
      ...{ limit: String(pageSize), page: String(page) },
      ...(namespace && { namespace }),
      ...(name && { name }),
      ...(role && { role }),
      ...(days !== undefined && { days: String(days) }),
      ...(all && { holders: 'All' }),
    });
    const { data } = listSchema.safeParse(await askService({ method: 'GET', path: `/auth/v1/standingaccess?${query}` }, wanted, terminal));
    if (data === undefined) throw new CommandError('the service answered with no list');
    items.push(...data.items);
    if (data.items.length > 0 && items.length < Math.min(data.total, limit)) continue;
    const shown = items.slice(0, limit);
    const { notes, total, directRequests } = data;
    if (output === 'json') terminal.stdout.write(jsonText({ ...data, items: shown }, 2));
    else terminal.stdout.write(table([titles, ...shown.map(rowOf)]));
    for (const note of notes) if (warnings[note] !== undefined) say(terminal, warnings[note]);
    if (shown.length < total) say(terminal, `The list has ${shown.length} of ${total} bindings.`);
    if (output === undefined) say(terminal, `Atrium records changes, connections and reads of Secrets${placeOf(directRequests)}.`);
    return;
  }
}

const placeOf = (direct: string | undefined): string =>
  direct === 'Seen' ? ', also those straight to the API server' : '. Requests straight to the API server are not seen';

const titles = ['SEVERITY', 'ROLE', 'BINDING', 'HOLDERS', 'USERS', 'LAST USED', 'BY', 'ACTION'];

const rowOf = ({ severity, binding, role, subjects, people, use: { state, reason = '', since = '', users = 0, last } }: Item): string[] => [
  severity,
  role.name,
  `${binding.kind}/${nameOf(binding)}`,
  subjects.map((subject) => `${subject.kind}/${nameOf(subject)}`).join(','),
  state === 'Used' ? `${users} of ${Math.max(people, users)}` : String(people),
  last?.requestReceivedTimestamp ?? (state === 'NotSeen' ? `not seen since ${since}` : `unknown (${reason})`),
  last?.user ?? '',
  last === undefined
    ? ''
    : `${last.verb} ${[last.objectRef.resource, last.objectRef.subresource, last.objectRef.name].filter(Boolean).join('/')}`,
];

const nameOf = ({ namespace, name }: z.infer<typeof named>): string => (namespace ? `${namespace}/${name}` : name);
