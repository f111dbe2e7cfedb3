/**
 * How values of a structural schema look to expressions of the Common Expression Language.
 *
 * @see https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-resource-fields-cel-types
 */
import { isDeepStrictEqual } from 'node:util';
import { Environment, type RegisteredFunctionHandler, type TypeCheckResult } from '@marcbachmann/cel-js';
import type { Schema } from './schema-definition.ts';
import { isObject, parseDateTime } from './schema-values.ts';

/** The name of a type in expressions, and what a value becomes there. */
export interface CelType {
  name: string;
  convert(value: unknown): unknown;
}

const asIs = (value: unknown) => value;

const SCALARS: Record<string, CelType> = {
  boolean: { name: 'bool', convert: asIs },
  integer: { name: 'int', convert: (value) => (typeof value === 'number' ? BigInt(value) : value) },
  number: { name: 'double', convert: asIs },
  string: { name: 'string', convert: asIs },
};
const TIMESTAMP: CelType = {
  name: 'google.protobuf.Timestamp',
  convert: (value) => (typeof value === 'string' ? parseDateTime(value) : value),
};
const BYTES: CelType = { name: 'bytes', convert: (value) => (typeof value === 'string' ? Buffer.from(value, 'base64') : value) };
/** Not known before the value is: checked at run time only. */
const DYNAMIC: CelType = { name: 'dyn', convert: (value) => (Number.isInteger(value) ? BigInt(Number(value)) : value) };

/** The object types of one schema, each declared once in its environment. */
export class TypeRegistry {
  readonly environment = new Environment({ enableOptionalTypes: true });
  readonly #known = new Map<Schema, CelType | undefined>();

  /** Declares all of `root` at once: an environment takes no more types once a rule's own environment came from it. */
  constructor(root: Schema) {
    this.#declareAll(root);
  }

  #declareAll(schema: Schema): void {
    this.typeOf(schema);
    for (const child of [...(schema.properties?.values() ?? []), schema.items, schema.additionalProperties]) {
      if (child) this.#declareAll(child);
    }
  }

  /** Undefined for what the schema says nothing about; expressions cannot see it. */
  typeOf(schema: Schema): CelType | undefined {
    if (!this.#known.has(schema)) this.#known.set(schema, this.#declare(schema));
    return this.#known.get(schema);
  }

  #declare(schema: Schema): CelType | undefined {
    if (schema['x-kubernetes-int-or-string'] || schema.nullable) return DYNAMIC;
    switch (schema.type) {
      case undefined:
        return undefined;
      case 'object':
        return schema.additionalProperties ? this.#mapOf(schema.additionalProperties) : this.#objectOf(schema);
      case 'array':
        return schema.items && this.#listOf(schema.items);
      case 'string':
        if (schema.format === 'date-time') return TIMESTAMP;
        return schema.format === 'byte' ? BYTES : SCALARS.string;
      default:
        return SCALARS[schema.type];
    }
  }

  #listOf(items: Schema): CelType | undefined {
    const item = this.typeOf(items);
    return item && { name: `list<${item.name}>`, convert: (value) => (Array.isArray(value) ? value.map(item.convert) : value) };
  }

  #mapOf(values: Schema): CelType | undefined {
    const entry = this.typeOf(values);
    const convert = (value: unknown) =>
      isObject(value) && entry ? new Map(Object.entries(value).map(([key, one]) => [key, entry.convert(one)])) : value;
    return entry && { name: `map<string, ${entry.name}>`, convert };
  }

  #objectOf({ properties = new Map() }: Schema): CelType {
    const fields = [...properties].flatMap(([key, child]): [string, string, CelType][] => {
      const type = this.typeOf(child);
      return type ? identifiersOf(key).map((identifier) => [key, identifier, type]) : [];
    });
    // The language tells types apart by their constructors.
    const Instance = class {};
    const name = `Object${this.#known.size}`;
    this.environment
      .registerType(name, { ctor: Instance, fields: Object.fromEntries(fields.map(([, field, type]) => [field, type.name])) })
      .registerOperator(`${name} == ${name}`, (a: unknown, b: unknown) => isDeepStrictEqual(a, b));
    const convert = (value: unknown) => {
      if (!isObject(value)) return value;
      const present = fields.filter(([key]) => Object.hasOwn(value, key));
      return Object.assign(new Instance(), Object.fromEntries(present.map(([key, field, type]) => [field, type.convert(value[key])])));
    };
    return { name, convert };
  }
}

const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);
const ESCAPES: Record<string, string> = { __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' };

/** What a property is called in expressions, by the rules of Kubernetes; a reserved word also goes by its own name since 1.33. */
function identifiersOf(key: string): string[] {
  if (RESERVED.has(key)) return [key, `__${key}__`];
  return /^[A-Za-z_./-][\w./-]*$/.test(key) ? [key.replace(/__|[./-]/g, (part) => ESCAPES[part] ?? part)] : [];
}

interface Checker {
  check(operand: unknown, context: unknown): unknown;
  getType(name: string): unknown;
}

const typeCheckOperand: RegisteredFunctionHandler = ({ args: [operand] }) => ({
  typeCheck: (checker: Checker, _macro: unknown, context: unknown) => {
    checker.check(operand, context);
    return checker.getType('bool');
  },
  evaluate: () => false,
});

/**
 * As `environment.check`, and the operands of `has` too: the library lets it ask for fields that are in no schema, and one that is
 * misspelt would always be absent.
 */
export function checkExpression(environment: Environment, expression: string): TypeCheckResult {
  const strict = environment.clone().registerFunction('hasKnown(ast): bool', typeCheckOperand);
  const checked = strict.check(expression.replaceAll(/\bhas\(/g, 'hasKnown('));
  return checked.valid ? environment.check(expression) : checked;
}
