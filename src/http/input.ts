import type { z } from 'zod';
import { badRequest, type StatusCause, type StatusError, unknownPath } from './status.ts';

type Issue = z.core.$ZodIssue;

const causeReasons: Partial<Record<Issue['code'], string>> = {
  invalid_value: 'FieldValueNotSupported',
  unrecognized_keys: 'FieldValueForbidden',
  invalid_type: 'FieldValueTypeInvalid',
};

function causeReason(issue: Issue): string {
  if (issue.code === 'invalid_type' && issue.input === undefined) return 'FieldValueRequired';
  if (issue.code === 'too_big')
    return issue.origin === 'array' ? 'FieldValueTooMany' : issue.origin === 'string' ? 'FieldValueTooLong' : 'FieldValueInvalid';
  return causeReasons[issue.code] ?? 'FieldValueInvalid';
}

/** `['spec', 'ids', 0, 'id']` as `spec.ids[0].id`. */
export const fieldPath = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, key) => (typeof key === 'number' ? `${text}[${key}]` : text ? `${text}.${String(key)}` : String(key)), '');

/** The violations that a schema found, as causes of a Status. */
const causesOf = (issues: readonly Issue[]): Required<StatusCause>[] =>
  issues.map((issue) => ({ reason: causeReason(issue), message: issue.message, field: fieldPath(issue.path) }));

/** 400 with a cause per violation. */
export function badInput(issues: readonly Issue[]): StatusError {
  const causes = causesOf(issues);
  return badRequest(causes.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join('; '), causes);
}

function isRepeatable(schema: z.core.$ZodType): boolean {
  const { def } = schema._zod;
  if ('innerType' in def) return isRepeatable(def.innerType as z.core.$ZodType);
  if ('in' in def) return isRepeatable(def.in as z.core.$ZodType);
  return def.type === 'array';
}

/** Which parameters of a query schema may be given more than once. Worked out once per operation. */
export const repeatableParameters = (schema: z.ZodObject): ReadonlySet<string> =>
  new Set(Object.keys(schema.shape).filter((name) => isRepeatable(schema.shape[name] as z.core.$ZodType)));

/**
 * The query parameters that a schema knows; unknown ones are ignored.
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
  const result = schema.safeParse(values);
  if (!result.success) throw badInput(result.error.issues);
  return result.data;
}

/** Path parameters. A name that no object can have is answered like one that no object has: 404, never a changed path upstream. */
export function parseParams(schema: z.ZodObject, params: Record<string, string>): unknown {
  const result = schema.safeParse(params);
  if (result.success) return result.data;
  throw unknownPath();
}
