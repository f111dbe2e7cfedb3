/** Parameters of the query that are no texts: every one comes as text, and the OpenAPI document says what it means. */
import { z } from 'zod';

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
