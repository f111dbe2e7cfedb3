import type { z } from 'zod';
import { type FieldError, forbidden, invalidValue, notSupported, required, tooMany, typeInvalid } from './field-error.ts';
import { fieldPath } from './input.ts';
import { badRequest, invalid } from './status.ts';

type Issue = z.core.$ZodIssue;

/** Query `fieldValidation` of Kubernetes: what becomes of fields that nobody knows. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

interface ObjectRules {
  group: string;
  kind: string;
  /** For the message: of the object, '' if it has none. */
  name: string;
  fieldValidation: FieldValidation;
  /** Dotted paths of fields whose value no message may repeat. */
  secretFields?: readonly string[];
  /** Violations found otherwise, told together with those of the schema. */
  alsoWrong?: readonly FieldError[];
}

/**
 * Reads the body of a request that creates or changes an object, as the API server does. A field that nobody may set here is
 * `z.never(WHY).optional()` in the schema, or has a refinement with
 * `params: { isForbidden: true }`.
 *
 * @param schema strict: it names every field that there is
 * @returns the object, and the texts of warnings about fields that were dropped
 * @throws StatusError 400 for what is no object or has unknown fields, 422 with every other violation
 */
export function readObject<S extends z.ZodType>(schema: S, body: unknown, rules: ObjectRules): { object: z.output<S>; warnings: string[] } {
  const { alsoWrong = [] } = rules;
  const first = schema.safeParse(body);
  if (first.success && alsoWrong.length > 0) throw invalid(rules, alsoWrong);
  if (first.success) return { object: first.data, warnings: [] };
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw badRequest('the body must be a JSON object');
  const unknown = first.error.issues.flatMap(unknownFields);
  if (unknown.length > 0 && rules.fieldValidation === 'Strict')
    throw badRequest(`strict decoding error: ${unknown.map(unknownText).join(', ')}`, unknown.map(unknownCause));
  const violations = first.error.issues.filter(({ code }) => code !== 'unrecognized_keys');
  const wrong = [...violations.map((issue) => fieldErrorOf(issue, body, rules)), ...alsoWrong];
  if (wrong.length > 0) throw invalid(rules, wrong);
  const object = schema.parse(without(body, unknown));
  return { object, warnings: rules.fieldValidation === 'Warn' ? unknown.map(unknownText) : [] };
}

type Path = readonly PropertyKey[];

const unknownFields = (issue: Issue): Path[] => (issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : []);

const unknownText = (path: Path) => `unknown field ${JSON.stringify(fieldPath(path))}`;

const unknownCause = (path: Path) => ({ reason: 'FieldValueForbidden', message: unknownText(path), field: fieldPath(path) });

function without(body: object, fields: readonly Path[]): unknown {
  const copy: unknown = structuredClone(body);
  for (const path of fields) {
    const parent = path.slice(0, -1).reduce<unknown>((value, key) => memberOf(value, key), copy);
    if (typeof parent === 'object' && parent !== null) Reflect.deleteProperty(parent, path.at(-1) ?? '');
  }
  return copy;
}

const memberOf = (value: unknown, key: PropertyKey): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;

function fieldErrorOf(issue: Issue, body: unknown, { secretFields = [] }: ObjectRules): FieldError {
  const field = fieldPath(issue.path);
  const found = issue.path.reduce(memberOf, body);
  const value = secretFields.includes(field) ? '***' : found;
  const isForbidden = issue.code === 'custom' && issue.params?.isForbidden === true;
  if (isForbidden || (issue.code === 'invalid_type' && issue.expected === 'never')) return forbidden(field, issue.message);
  if (issue.code === 'invalid_type' && found === undefined) return required(field);
  if (issue.code === 'invalid_type') return typeInvalid(field, value, `must be of type ${issue.expected}`);
  if (issue.code === 'invalid_value') return notSupported(field, value, issue.values);
  if (issue.code === 'too_big' && issue.origin === 'array' && Array.isArray(found))
    return tooMany(field, found.length, Number(issue.maximum));
  return invalidValue(field, value, issue.message);
}
