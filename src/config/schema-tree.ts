/** Reads the configuration schema itself: sections, written defaults, descriptions. */
import type { z } from 'zod';
import { pathTitle } from './units.ts';

type Shape = Readonly<Record<string, z.ZodType>>;

function inner(schema: z.ZodType): z.ZodType {
  const { def } = schema._zod;
  return 'innerType' in def ? inner(def.innerType as z.ZodType) : schema;
}

/** Returns the members of a section; undefined for a single setting. */
export function shapeOf(schema: z.ZodType): Shape | undefined {
  const found = inner(schema);
  return 'shape' in found ? (found.shape as Shape) : undefined;
}

/** Returns the setting at a path of names and indexes; undefined if it does not exist. */
export function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return schema;
  const child = typeof key === 'number' ? elementOf(schema) : shapeOf(schema)?.[String(key)];
  return child && schemaAt(child, rest);
}

function elementOf(schema: z.ZodType): z.ZodType | undefined {
  const { def } = inner(schema)._zod;
  return 'element' in def ? (def.element as z.ZodType) : undefined;
}

/** Yields every file and directory of a configuration, with its setting. */
export function* namedPaths(schema: z.ZodType, value: unknown, setting = ''): Generator<{ setting: string; path: string }> {
  if (typeof value === 'string' && inner(schema).meta()?.title === pathTitle) yield { setting, path: value };
  if (typeof value !== 'object' || value === null) return;
  const element = elementOf(schema);
  for (const [key, child] of Object.entries(value)) {
    const below = element ?? shapeOf(schema)?.[key];
    if (below) yield* namedPaths(below, child, element ? `${setting}[${key}]` : setting ? `${setting}.${key}` : key);
  }
}

/** Reports whether a setting is text, so that a process variable is used unchanged. */
export function isText(schema: z.ZodType): boolean {
  const { def } = inner(schema)._zod;
  if ('in' in def) return isText(def.in as z.ZodType);
  return def.type === 'string' || def.type === 'enum';
}

export function writtenDefault(schema: z.ZodType): unknown {
  const { def } = schema._zod;
  if ('defaultValue' in def) return def.defaultValue;
  return 'innerType' in def ? writtenDefault(def.innerType as z.ZodType) : undefined;
}

/** Returns all defaults in their written form, without sections that are disabled by default. */
export function writtenDefaults(schema: z.ZodType): Record<string, unknown> {
  const settings = Object.entries(shapeOf(schema) ?? {}).map(([key, child]): [string, unknown] => {
    const written = writtenDefault(child);
    return [key, written !== undefined && shapeOf(child) ? writtenDefaults(child) : written];
  });
  return Object.fromEntries(settings.filter(([, value]) => value !== undefined));
}
