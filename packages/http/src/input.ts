import { nearestName } from '@atrium/objects/field-error.ts';
import { badRequest, type StatusCause, type StatusError, unknownPath } from '@atrium/objects/status.ts';
import { type Violation, validate } from '@atrium/objects/validation.ts';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { bodyTextReader, decodeJson } from './body.ts';
import type { Bearer, Caller } from './caller.ts';
import { atMost } from './limits/bounded-cache.ts';
import type { Operation } from './operation.ts';

/** A whole number from 1. A value above `cap` counts as `cap`; a value above `max` is refused. */
export function wholeNumber({ max, cap = Number.MAX_SAFE_INTEGER }: { max?: number; cap?: number } = {}) {
  const range = max === undefined ? 'from 1' : `from 1 to ${max}`;
  const hint = cap === Number.MAX_SAFE_INTEGER ? '' : `; more than ${cap} counts as ${cap}`;
  const message = `must be an integer ${range}${hint}`;
  return z
    .string()
    .regex(/^0*[1-9][0-9]*$/, message)
    .transform((digits) => Math.min(Number(digits), cap))
    .refine((number) => max === undefined || number <= max, message)
    .meta({ override: shownAs({ type: 'integer', minimum: 1, ...(max !== undefined && { maximum: max }) }) });
}

/** For the document alone: the reader of the parameter decides what is true. */
export const shownAsBoolean = { override: shownAs({ type: 'boolean' }) };

/** For the document alone. */
export const shownAsInteger = { override: shownAs({ type: 'integer', minimum: 0 }) };

function shownAs(schema: Readonly<Record<string, unknown>>) {
  return ({ jsonSchema }: { jsonSchema: object }) => {
    for (const key of ['pattern', 'enum', 'allOf', 'anyOf', 'minLength', 'maxLength']) Reflect.deleteProperty(jsonSchema, key);
    Object.assign(jsonSchema, schema);
  };
}

/** 400 with a cause per violation. */
export const badInput = (violations: readonly Violation[]): StatusError =>
  badRequest(
    violations.map(textOf).join('; '),
    violations.map(({ reason, detail, field }) => ({ reason, message: detail, ...(field && { field }) })),
  );

function textOf({ field, detail, isUnknown }: Violation): string {
  if (isUnknown) return detail;
  return field ? `${field}: ${detail}` : `the body ${detail}`;
}

function isRepeatable(schema: z.core.$ZodType): boolean {
  const { def } = schema._zod;
  if ('innerType' in def) return isRepeatable(def.innerType as z.core.$ZodType);
  if ('in' in def) return isRepeatable(def.in as z.core.$ZodType);
  return def.type === 'array';
}

/** Names of the parameters of a query schema that may be repeated. Worked out once per operation. */
export const repeatableParameters = (schema: z.ZodObject): ReadonlySet<string> =>
  new Set(Object.keys(schema.shape).filter((name) => isRepeatable(schema.shape[name] as z.core.$ZodType)));

/** A misspelt name is compared with each known one: few and short names are enough for a reader. */
const maxUnknown = 10;
const maxNameLength = 64;

/** @throws StatusError 400 with a cause for each of the first unknown parameters */
function refuseUnknownParameters(known: readonly string[], search: URLSearchParams): void {
  const unknown = new Set([...search.keys()].filter((name) => !known.includes(name)));
  if (unknown.size === 0) return;
  const causes = [...unknown].slice(0, maxUnknown).map((name) => {
    const field = name.slice(0, maxNameLength);
    const nearest = nearestName(field, known);
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
    return { reason: 'FieldValueForbidden', message: `is not a parameter of this operation${hint}`, field };
  });
  throw badRequest(causes.map(({ field, message }) => `${field}: ${message}`).join('; '), causes);
}

/**
 * The query parameters that a schema knows.
 *
 * @throws StatusError 400 for a single-valued parameter that is given twice, and for what the schema refuses
 */
export function parseQuery(schema: z.ZodObject, repeatable: ReadonlySet<string>, search: URLSearchParams): unknown {
  const values: Record<string, unknown> = {};
  const twice: StatusCause[] = [];
  for (const name of Object.keys(schema.shape)) {
    const given = search.getAll(name);
    if (repeatable.has(name)) {
      if (given.length > 0) values[name] = given;
    } else if (given.length > 1) {
      twice.push({ reason: 'FieldValueDuplicate', message: 'may be given only once', field: name });
    } else if (given.length === 1) {
      values[name] = given[0];
    }
  }
  if (twice.length > 0) throw badRequest(twice.map(({ field, message }) => `${field}: ${message}`).join('; '), twice);
  const result = validate(schema, values);
  if (!result.success) throw badInput(result.violations);
  return result.data;
}

/** Path parameters. A name that no object can have is answered like one that no object has: 404, never a changed path upstream. */
function parseParams(schema: z.ZodObject, params: Readonly<Record<string, string>>): unknown {
  const result = schema.safeParse(params);
  if (result.success) return result.data;
  throw unknownPath();
}

const jsonTypes = ['application/json'] as const;

type Handled = Parameters<Operation['handle']>[0];

/** Input of a handler. An object literal with a getter would get a hidden class of its own for each request, which holds the request. */
class OperationCall implements Handled {
  readonly ctx: Context;
  readonly caller: Caller | Bearer | undefined;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;

  constructor({ ctx, caller, params, query, body }: Omit<Handled, 'signal'>) {
    this.ctx = ctx;
    this.caller = caller;
    this.params = params;
    this.query = query;
    this.body = body;
  }

  get signal(): AbortSignal {
    return this.ctx.state.signal;
  }
}

const noInput = {};

/** Reads the input that the schemas name, then calls the handler. */
export function inputReader(operation: Operation, bodyLimit: number) {
  const hasParams = Object.keys(operation.params.shape).length > 0;
  const readQuery = queryReader(operation);
  const readBody = bodyReader(operation, bodyLimit);
  return async (ctx: Context, given: Readonly<Record<string, string>>, caller: Caller | Bearer | undefined): Promise<void> => {
    const params = hasParams ? parseParams(operation.params, given) : noInput;
    const query = readQuery(ctx);
    const body = await readBody?.(ctx);
    await operation.handle(new OperationCall({ ctx, caller, params, query, body }));
  };
}

/** Parameters of all operations, read by middlewares. */
const commonParameters = ['pretty'];

function queryReader({ query: schema, credential, ignoredQuery = [] }: Operation): (ctx: Context) => unknown {
  const names = Object.keys(schema.shape);
  if (names.length === 0 && ignoredQuery === 'all') return () => noInput;
  const repeatable = repeatableParameters(schema);
  const parse = (text: string) => {
    const search = new URLSearchParams(text);
    if (ignoredQuery !== 'all') refuseUnknownParameters([...names, ...commonParameters, ...ignoredQuery], search);
    return parseQuery(schema, repeatable, search);
  };
  // A query of a login may hold its code.
  if (credential === 'none') return ({ request }) => parse(request.querystring);
  const kept = new KeptInput();
  return ({ request }) => kept.of(request.querystring, parse);
}

function bodyReader({ body: schema, bodyTypes: mediaTypes = jsonTypes, isAskedAgain }: Operation, limit: number) {
  if (schema === undefined) return undefined;
  const check = (body: unknown): unknown => {
    const result = validate(schema, body);
    if (!result.success) throw badInput(result.violations);
    return result.data;
  };
  const read = bodyTextReader({ limit, mediaTypes });
  const kept = isAskedAgain ? new KeptInput() : undefined;
  return async (ctx: Context): Promise<unknown> => {
    const text = await read(ctx);
    if (text === undefined) return check(undefined);
    const parse = (json: string) => check(decodeJson(json));
    return kept === undefined ? parse(text) : kept.of(text, parse);
  };
}

const maxTexts = 128;
/** Longer texts are rarely sent twice. */
const maxLength = 1024;

/**
 * Cache of parsed input by its text, for texts without secrets: consoles ask the same questions again and again. Values are frozen, because
 * all callers that send a text share its value. Caches of what follows from an input use the value as their key.
 */
class KeptInput {
  readonly #values = new LRUCache<string, { value: unknown }>(atMost(maxTexts));

  /** @throws whatever `parse` throws; errors are not kept */
  of(text: string, parse: (text: string) => unknown): unknown {
    const known = this.#values.get(text);
    if (known !== undefined) return known.value;
    const value = parse(text);
    if (text.length <= maxLength) this.#values.set(text, { value: frozen(value) });
    return value;
  }
}

/** Freezes all members, too. Schemas make no cycles of JSON. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}
