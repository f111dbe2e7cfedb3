/** `reviews …`: asks the service for reviews of standing bindings, and answers them. */
import * as z from 'zod/mini';
import type { OutputOptions, Session } from './access.ts';
import { askService } from './service.ts';
import { table } from './table.ts';
import { CommandError, harmless, jsonText, say } from './terminal.ts';

export interface AnswerOptions extends OutputOptions {
  ifVersion?: string;
}

interface Answer {
  review: string;
  /** Name of a binding, or of its UserBinding. */
  binding: string;
  decision: 'Keep' | 'Shorten' | 'End';
  /** Time until the end of a binding that is shortened. */
  seconds?: number;
}

const path = '/auth/v1/bindingreviews';
const most = 500;

const named = z.looseObject({ kind: z.string(), name: z.string(), namespace: z.optional(z.string()) });
const told = z.looseObject({
  name: z.string(),
  decision: z.string(),
  by: z.optional(z.string()),
  until: z.optional(z.string()),
  time: z.string(),
});
const reviewSchema = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ namespace: z.optional(z.string()), unanswered: z.string() }),
  status: z.optional(
    z.looseObject({
      phase: z.optional(z.string()),
      dueAt: z.optional(z.string()),
      open: z.optional(z.number()),
      bindings: z.optional(z.number()),
      answers: z.optional(z.array(told)),
    }),
  ),
});
const listSchema = z.looseObject({
  metadata: z.looseObject({ continue: z.optional(z.string()) }),
  items: z.array(reviewSchema),
});
const itemSchema = z.looseObject({
  binding: z.extend(named, { userBinding: z.optional(z.string()) }),
  role: named,
  subjects: z.array(named),
  version: z.string(),
  isOwn: z.boolean(),
  answer: z.optional(told),
});
const reviewedSchema = z.looseObject({ total: z.number(), items: z.array(itemSchema) });
type Item = z.infer<typeof itemSchema>;

/** Prints the reviews that the user may see. @throws CommandError */
export async function listReviews({ output }: OutputOptions, session: Session): Promise<void> {
  const list = await ask('GET', `${path}?limit=${most}`, listSchema, session);
  if (list.metadata.continue) say(session.terminal, 'The list is not complete: there are more than the service shows at once.');
  if (output === 'json') return print(list, session);
  const rows = list.items.map(({ metadata, spec, status: { phase = '', open, bindings, dueAt = '' } = {} }) => [
    ...[metadata.name, spec.namespace ?? 'platform', phase, open === undefined ? '' : `${open} of ${bindings ?? open}`],
    ...[dueAt, spec.unanswered],
  ]);
  session.terminal.stdout.write(table([['NAME', 'PLACE', 'PHASE', 'OPEN', 'DUE', 'UNANSWERED'], ...rows]));
}

/** Prints the bindings of a review. @throws CommandError */
export async function listReviewed(review: string, { output }: OutputOptions, session: Session): Promise<void> {
  const list = await reviewedOf(review, session);
  if (output === 'json') print(list, session);
  else session.terminal.stdout.write(table([['BINDING', 'ROLE', 'HOLDERS', 'YOURS', 'ANSWER', 'BY', 'VERSION'], ...list.items.map(rowOf)]));
  if (list.total > list.items.length) say(session.terminal, `The list has ${list.items.length} of ${list.total} bindings.`);
}

/** Keeps, shortens or ends a binding. @throws CommandError */
export async function answerReview(
  { review, binding, decision, seconds }: Answer,
  { ifVersion, output }: AnswerOptions,
  session: Session,
): Promise<void> {
  const { items } = await reviewedOf(review, session);
  const item = items.find((one) => nameOf(one) === binding) ?? items.find((one) => one.binding.name === binding);
  if (item === undefined) throw new CommandError(`the review ${harmless(review)} has no binding ${harmless(binding)}`);
  const { name } = item.binding;
  const body = {
    ...{ name, version: ifVersion ?? item.version, decision },
    ...(seconds !== undefined && { until: new Date(Date.now() + seconds * 1000).toISOString() }),
  };
  const answered = await ask('POST', `${pathOf(review)}/answers`, reviewSchema, session, body);
  if (output === 'json') return print(answered, session);
  const { decision: done = '', until } = answered.status?.answers?.find((answer) => answer.name === name) ?? {};
  const what = `${item.binding.kind}/${nameOf(item)} (${item.role.name} for ${item.subjects.map(subjectText).join(', ')})`;
  session.terminal.stdout.write(`${harmless(`${what} ${done}${until === undefined ? '' : ` until ${until}`}`)}\n`);
}

const pathOf = (review: string): string => `${path}/${encodeURIComponent(review)}`;

const reviewedOf = (review: string, session: Session) => ask('GET', `${pathOf(review)}/bindings`, reviewedSchema, session);

async function ask<Answered>(
  method: 'GET' | 'POST',
  asked: string,
  schema: z.ZodMiniType<Answered>,
  { wanted, terminal }: Session,
  body?: object,
): Promise<Answered> {
  const { data } = schema.safeParse(await askService({ method, path: asked, ...(body && { body }) }, wanted, terminal));
  if (data === undefined) throw new CommandError('the service answered with no review');
  return data;
}

const rowOf = (item: Item): string[] => [
  nameOf(item),
  item.role.name,
  item.subjects.map(subjectText).join(','),
  item.isOwn ? 'yes' : '',
  item.answer?.decision ?? '',
  item.answer?.by ?? '',
  item.version,
];

const nameOf = ({ binding: { userBinding, name } }: Item): string => userBinding ?? name;

const subjectText = ({ kind, namespace, name }: z.infer<typeof named>): string => `${kind}/${namespace ? `${namespace}/${name}` : name}`;

const print = (value: unknown, { terminal }: Session): void => {
  terminal.stdout.write(jsonText(value, 2));
};
