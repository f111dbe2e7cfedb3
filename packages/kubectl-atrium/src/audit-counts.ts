/** `audit counts`: asks the service how many events share a user, a verb, an object or an hour. */
import * as z from 'zod/mini';
import type { Session } from './access.ts';
import { type AuditConditions, objectOf, questionOf, sayScope } from './audit.ts';
import { askService } from './service.ts';
import { table } from './table.ts';
import { CommandError, jsonText, say } from './terminal.ts';

export interface CountOptions extends AuditConditions {
  by: 'actor' | 'hour' | 'object' | 'verb';
  output?: 'json';
}

const countSchema = z.looseObject({
  hour: z.optional(z.string()),
  actor: z.optional(z.string()),
  kind: z.optional(z.string()),
  verb: z.optional(z.string()),
  object: z.optional(
    z.looseObject({ apiGroup: z.string(), resource: z.string(), namespace: z.optional(z.string()), name: z.optional(z.string()) }),
  ),
  count: z.number(),
  failures: z.number(),
  withToken: z.optional(z.number()),
});
const countsSchema = z.looseObject({
  scope: z.enum(['All', 'Own']),
  total: z.number(),
  oldest: z.optional(z.string()),
  items: z.array(countSchema),
});
type Count = z.infer<typeof countSchema>;

/** Prints the largest counts first, and hours from the newest on. @throws CommandError */
export async function printCounts({ by, output, ...conditions }: CountOptions, session: Session): Promise<void> {
  const { terminal, wanted } = session;
  const query = new URLSearchParams({ ...(await questionOf(conditions, session)), by });
  const answer = await askService({ method: 'GET', path: `/auth/v1/audit/counts?${query}` }, wanted, terminal);
  const { data } = countsSchema.safeParse(answer);
  if (data === undefined) throw new CommandError('the service answered with no counts');
  sayScope(data.scope, session);
  if (data.oldest !== undefined) say(terminal, `Only the newest ${data.total} events are counted: those since ${data.oldest}.`);
  if (output === 'json') terminal.stdout.write(jsonText(data, 2));
  else terminal.stdout.write(table([titles[by], ...data.items.map((item) => cells[by](item))]));
}

const numbers = ['EVENTS', 'FAILED'];
const titles: Readonly<Record<CountOptions['by'], string[]>> = {
  actor: ['USER', 'KIND', ...numbers, 'WITH TOKEN'],
  hour: ['HOUR', ...numbers],
  object: ['OBJECT', 'NAMESPACE', ...numbers],
  verb: ['VERB', ...numbers],
};

const numbersOf = ({ count, failures }: Count): string[] => [String(count), String(failures)];

/** Events without a user are those of the service itself, and of logins that it refused. */
const cells: Readonly<Record<CountOptions['by'], (item: Count) => string[]>> = {
  actor: (item) => [
    item.actor || 'Atrium',
    item.kind ?? '',
    ...numbersOf(item),
    item.withToken === undefined ? '' : String(item.withToken),
  ],
  hour: (item) => [item.hour ?? '', ...numbersOf(item)],
  object: (item) => [item.object ? objectOf(item.object) : '', item.object?.namespace ?? '', ...numbersOf(item)],
  verb: (item) => [item.verb ?? '', ...numbersOf(item)],
};
