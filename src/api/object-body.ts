import type { z } from 'zod';
import { type FieldError, forbidden, invalidValue, notSupported, required, tooMany, typeInvalid } from './field-error.ts';
import { badRequest, invalid } from './status.ts';
import { type Violation, validate } from './violations.ts';

/** Query parameter `fieldValidation` of Kubernetes, for unknown fields. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

interface ObjectRules {
  group: string;
  kind: string;
  /** Name of the object for the message; '' without one. */
  name: string;
  fieldValidation: FieldValidation;
  /** Dotted paths of fields whose value is kept out of messages. */
  secretFields?: readonly string[];
  /** Further violations, reported together with those of the schema. */
  alsoWrong?: readonly FieldError[];
}

/**
 * Reads the body of a request that creates or changes an object, like the API server. The schema marks a field that cannot be set with
 * `z.never(WHY).optional()`, or with a refinement that has `params: { isForbidden: true }`.
 *
 * @param schema strict schema that names every field
 * @returns the object, and the texts of warnings about dropped fields
 * @throws StatusError 400 for a body that is not an object or has unknown fields, 422 with all other violations
 */
export function readObject<S extends z.ZodType>(schema: S, body: unknown, rules: ObjectRules): { object: z.output<S>; warnings: string[] } {
  const { alsoWrong = [] } = rules;
  const first = validate(schema, body);
  if (first.success && alsoWrong.length > 0) throw invalid(rules, alsoWrong);
  if (first.success) return { object: first.data, warnings: [] };
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw badRequest('the body must be a JSON object');
  const unknown = first.violations.filter(({ isUnknown }) => isUnknown);
  const unknownTexts = unknown.map(({ detail }) => detail);
  if (unknown.length > 0 && rules.fieldValidation === 'Strict')
    throw badRequest(
      `strict decoding error: ${unknownTexts.join(', ')}`,
      unknown.map(({ reason, detail, field }) => ({ reason, message: detail, field })),
    );
  const violations = first.violations.filter(({ isUnknown }) => !isUnknown);
  const wrong = [...violations.map((violation) => fieldErrorOf(violation, rules)), ...alsoWrong];
  if (wrong.length > 0) throw invalid(rules, wrong);
  const object = schema.parse(without(body, unknown));
  return { object, warnings: rules.fieldValidation === 'Warn' ? unknownTexts : [] };
}

function without(body: object, unknown: readonly Violation[]): unknown {
  const copy: unknown = structuredClone(body);
  for (const { path } of unknown) {
    const parent = path.slice(0, -1).reduce<unknown>((value, key) => memberOf(value, key), copy);
    if (typeof parent === 'object' && parent !== null) Reflect.deleteProperty(parent, path.at(-1) ?? '');
  }
  return copy;
}

const memberOf = (value: unknown, key: PropertyKey): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;

function fieldErrorOf(
  { reason, detail, field, value: found, supported, maximum }: Violation,
  { secretFields = [] }: ObjectRules,
): FieldError {
  const value = secretFields.includes(field) ? '***' : found;
  switch (reason) {
    case 'FieldValueForbidden':
      return forbidden(field, detail);
    case 'FieldValueRequired':
      return required(field);
    case 'FieldValueTypeInvalid':
      return typeInvalid(field, value, detail);
    case 'FieldValueNotSupported':
      return notSupported(field, value, supported);
    case 'FieldValueTooMany':
      return tooMany(field, Array.isArray(found) ? found.length : 0, maximum);
    default:
      return invalidValue(field, value, detail);
  }
}
