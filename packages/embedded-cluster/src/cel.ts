/**
 * `x-kubernetes-validations`: rules in the Common Expression Language, parsed when the schema arrives and run for each object.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 */
import { isDeepStrictEqual } from 'node:util';
import { type FieldError, invalidValue } from '@atrium/objects/field-error.ts';
import { Environment, EvaluationError } from '@marcbachmann/cel-js';
import { isJsonObject } from './objects.ts';
import { type Schema, unenforceable, type ValidationRule } from './schema-definition.ts';
import { childPath, childSchema, continuedItem, fieldOf, parseDateTime } from './schema-values.ts';

interface Check {
  definition: ValidationRule;
  /** True for a transition rule, which compares with the old value and runs only if there is one. */
  isTransition: boolean;
  evaluate(variables: Record<string, unknown>): unknown;
}

/** Rules of one place of the schema and of the places below; absent where there are none. */
export interface Rules {
  schema: Schema;
  checks: Check[];
  properties: Map<string, Rules>;
  additionalProperties?: Rules;
  items?: Rules;
}

/** Values are dynamically typed. An API server, which has every definition of ours, checks that a rule fits its schema. */
const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
  .registerVariable('self', 'dyn')
  .registerVariable('oldSelf', 'dyn');

/** Converts a value to CEL, in which integers are no doubles. A value that the schema calls a time becomes a timestamp. */
export function celValue(value: unknown, schema?: Schema): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (typeof value === 'string') return schema?.format === 'date-time' ? (parseDateTime(value) ?? value) : value;
  if (Array.isArray(value)) return value.map((item) => celValue(item, schema?.items));
  if (!isJsonObject(value)) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, celValue(member, schema && childSchema(schema, key))]));
}

/** @throws StatusError 422 for a rule that does not parse, or has no meaning in its place */
export const compileRules = (root: Schema): Rules | undefined => compile(root, [], true);

function compile(schema: Schema, path: readonly string[], isCorrelatable: boolean): Rules | undefined {
  const below = (child: Schema, name: string, correlatable: boolean) => compile(child, [...path, name], correlatable);
  const properties = new Map(
    [...(schema.properties ?? [])].flatMap(([key, child]): [string, Rules][] => {
      const rules = below(child, `properties[${key}]`, isCorrelatable);
      return rules ? [[key, rules]] : [];
    }),
  );
  const additionalProperties = schema.additionalProperties && below(schema.additionalProperties, 'additionalProperties', isCorrelatable);
  const items = schema.items && below(schema.items, 'items', isCorrelatable && schema['x-kubernetes-list-type'] === 'map');
  const definitions = schema['x-kubernetes-validations'] ?? [];
  if (!definitions.length && !properties.size && !additionalProperties && !items) return undefined;
  const checks = definitions.map((definition, at) => {
    const place = [...path, `x-kubernetes-validations[${at}]`];
    const check = compileCheck(definition, place);
    if (check.isTransition && !isCorrelatable) throw unenforceable([{ path: place, problem: 'oldSelf has no meaning inside this list' }]);
    return check;
  });
  return { schema, checks, properties, ...(additionalProperties && { additionalProperties }), ...(items && { items }) };
}

function compileCheck(definition: ValidationRule, path: readonly string[]): Check {
  const { rule } = definition;
  const { valid, error } = environment.check(rule);
  if (!valid) throw unenforceable([{ path: [...path, 'rule'], problem: `${rule}: ${error?.summary ?? 'does not compile'}` }]);
  return { definition, evaluate: environment.parse(rule), isTransition: /\boldSelf\b/.test(rule) };
}

/**
 * Runs every rule from `rules` downwards.
 *
 * @param isUnchanged whether the value, or the value that contains it, is the same as before
 */
export function runRules(rules: Rules, value: unknown, path: string, old?: unknown, isUnchanged = false): FieldError[] {
  // A rule about a null or absent value belongs to the place above it.
  if (value === null || value === undefined) return [];
  const unchanged = isUnchanged || (old !== undefined && isDeepStrictEqual(value, old));
  const own = rules.checks.length ? runChecks(rules, value, path, old, unchanged) : [];
  const below = (child: Rules, entry: unknown, childAt: string, oldEntry: unknown) => runRules(child, entry, childAt, oldEntry, unchanged);
  if (Array.isArray(value)) {
    const { items, schema } = rules;
    return items ? [...own, ...value.flatMap((item, at) => below(items, item, `${path}[${at}]`, continuedItem(schema, item, old)))] : own;
  }
  if (!isJsonObject(value)) return own;
  const nested = Object.entries(value).flatMap(([key, entry]) => {
    const property = rules.properties.get(key);
    if (property) return below(property, entry, childPath(path, key), fieldOf(old, key));
    return rules.additionalProperties ? below(rules.additionalProperties, entry, `${path}[${key}]`, fieldOf(old, key)) : [];
  });
  return [...own, ...nested];
}

function runChecks({ schema, checks }: Rules, value: unknown, path: string, old: unknown, isUnchanged: boolean): FieldError[] {
  const self = celValue(value, schema);
  const oldSelf = old === undefined || old === null ? undefined : celValue(old, schema);
  return checks.flatMap(({ definition: { rule, message, fieldPath = '' }, isTransition, evaluate }) => {
    if (isTransition ? oldSelf === undefined : isUnchanged) return [];
    const detail = message?.trim() || `failed rule: ${rule.trim()}`;
    const field = `${path}${fieldPath}`.replace(/^\./, '') || '<nil>';
    try {
      if (evaluate({ self, oldSelf }) === true) return [];
      const isStructured = schema.type === 'object' || schema.type === 'array';
      return [
        isStructured ? { reason: 'FieldValueInvalid', message: `Invalid value: ${detail}`, field } : invalidValue(field, value, detail),
      ];
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      const problem = error.summary.charAt(0).toLowerCase() + error.summary.slice(1);
      return [invalidValue(path || '<nil>', schema.type, `${problem} evaluating rule: ${message ?? rule}`)];
    }
  });
}
