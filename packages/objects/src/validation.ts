/** Violations of a schema by the input of a caller, with the messages of Kubernetes instead of the validator's. */
import type { z } from 'zod';
import { type FieldError, forbidden, invalidValue, notSupported, required, tooMany, typeInvalid } from './field-error.ts';
import { badRequest, invalid } from './status.ts';

type Issue = z.core.$ZodIssue;
type RawIssue = z.core.$ZodRawIssue;

export interface Violation {
  /** `FieldValueRequired`, `FieldValueInvalid`, … */
  readonly reason: string;
  /** Requirement: `is required`, `must be a string`, … */
  readonly detail: string;
  readonly path: readonly PropertyKey[];
  /** The path as text: `spec.ids[0].id`; '' for the whole input. */
  readonly field: string;
  readonly value: unknown;
  /** True for a member that is not in the schema. */
  readonly isUnknown: boolean;
  /** Allowed values of an enumeration. */
  readonly supported: readonly unknown[];
  /** Bound of the items, if there are too many. */
  readonly maximum: number;
}

/** Bound of an unknown field in a message, in characters. */
const maxShown = 512;

type Validated<S extends z.ZodType> = { success: true; data: z.output<S> } | { success: false; data?: undefined; violations: Violation[] };

/** Validates input of a caller. All input is validated here, so that messages are uniform. */
export function validate<S extends z.ZodType>(schema: S, input: unknown): Validated<S> {
  const result = schema.safeParse(input, { error: detailOf, reportInput: true });
  return result.success
    ? { success: true, data: result.data }
    : { success: false, violations: result.error.issues.flatMap((issue) => violationsOf(issue, input)) };
}

/** `['spec', 'ids', 0, 'id']` as `spec.ids[0].id`. */
const fieldPath = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, key) => (typeof key === 'number' ? `${text}[${key}]` : text ? `${text}.${String(key)}` : String(key)), '');

function violationsOf(issue: Issue, input: unknown): Violation[] {
  const { path, message: detail } = issue;
  const value = path.reduce(memberOf, input);
  const violation = { detail, path, field: fieldPath(path), value, isUnknown: false, supported: [], maximum: Number.NaN };
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const field = fieldPath([...path, key]);
      const text = `unknown field ${JSON.stringify(field.slice(0, maxShown))}`;
      return { ...violation, reason: 'FieldValueForbidden', detail: text, path: [...path, key], field, isUnknown: true };
    });
  if (isForbidden(issue)) return [{ ...violation, reason: 'FieldValueForbidden' }];
  if (isMissing(issue, value)) return [{ ...violation, reason: 'FieldValueRequired', detail: 'is required' }];
  return [{ ...violation, reason: reasonOf(issue), ...limitsOf(issue) }];
}

const memberOf = (value: unknown, key: PropertyKey): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;

/** See `readObject`. */
const isForbidden = (issue: Issue) =>
  (issue.code === 'custom' && issue.params?.isForbidden === true) || (issue.code === 'invalid_type' && issue.expected === 'never');

const isMissing = ({ code }: Issue, value: unknown) => value === undefined && (code === 'invalid_type' || code === 'invalid_value');

function limitsOf(issue: Issue): Partial<Violation> {
  if (issue.code === 'invalid_value') return { supported: issue.values };
  return issue.code === 'too_big' ? { maximum: Number(issue.maximum) } : {};
}

function reasonOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return 'FieldValueTypeInvalid';
    case 'invalid_value':
      return 'FieldValueNotSupported';
    case 'too_big':
      return issue.origin === 'array' ? 'FieldValueTooMany' : issue.origin === 'string' ? 'FieldValueTooLong' : 'FieldValueInvalid';
    default:
      return 'FieldValueInvalid';
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const formats: Readonly<Record<string, string>> = {
  datetime: 'must be a time such as 2026-12-31T23:59:59Z (RFC 3339)',
  url: 'must be a URL',
  email: 'must be an e-mail address',
};

const units: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
};

/** Returns the message of an issue whose schema has none. */
function detailOf(issue: RawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeNames[issue.expected] ?? 'a value of another type'}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_small':
      return boundText(issue.origin, 'at least', Number(issue.minimum));
    case 'too_big':
      return boundText(issue.origin, 'at most', Number(issue.maximum));
    case 'invalid_format':
      return formats[issue.format] ?? 'does not have the required form';
    default:
      return 'is not valid';
  }
}

function boundText(origin: string, bound: string, limit: number): string {
  const unit = units[origin];
  if (unit === undefined) return `must be ${bound} ${limit}`;
  if (bound === 'at least' && limit === 1) return 'must not be empty';
  return `must have ${bound} ${limit} ${limit === 1 ? unit[0] : unit[1]}`;
}

/** Query parameter `fieldValidation` of Kubernetes, for unknown fields. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface ObjectRules {
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

/** An object of a body, and the texts of warnings about dropped fields. */
export interface ReadObject<T> {
  object: T;
  warnings: string[];
}

/**
 * Reads the body of a request that creates or changes an object, like the API server. The schema marks a field that cannot be set with
 * `z.never(WHY).optional()`, or with a refinement that has `params: { isForbidden: true }`.
 *
 * @param schema strict schema that names every field
 * @throws StatusError 400 for a body that is not an object or has unknown fields, 422 with all other violations
 */
export function readObject<S extends z.ZodType>(schema: S, body: unknown, rules: ObjectRules): ReadObject<z.output<S>> {
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

/** Decodes a part of a path once. @throws StatusError 400 */
export function percentDecoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest('the path contains an invalid percent-encoded character');
  }
}
