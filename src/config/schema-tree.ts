/** Reads the configuration schema itself: sections, defaults as written, descriptions. */
import type { z } from 'zod';
import { pathTitle } from './units.ts';

type Shape = Readonly<Record<string, z.ZodType>>;

function inner(schema: z.ZodType): z.ZodType {
  const { def } = schema._zod;
  return 'innerType' in def ? inner(def.innerType as z.ZodType) : schema;
}

/** The members of a section; undefined for a single setting. */
export function shapeOf(schema: z.ZodType): Shape | undefined {
  const found = inner(schema);
  return 'shape' in found ? (found.shape as Shape) : undefined;
}

/** The setting at a path of names and indexes; undefined if there is none. */
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

/** Every file and directory that a configuration names, with the setting that names it. */
export function* namedPaths(schema: z.ZodType, value: unknown, setting = ''): Generator<{ setting: string; path: string }> {
  if (typeof value === 'string' && inner(schema).meta()?.title === pathTitle) yield { setting, path: value };
  if (typeof value !== 'object' || value === null) return;
  const element = elementOf(schema);
  for (const [key, child] of Object.entries(value)) {
    const below = element ?? shapeOf(schema)?.[key];
    if (below) yield* namedPaths(below, child, element ? `${setting}[${key}]` : setting ? `${setting}.${key}` : key);
  }
}

/** Whether a setting is written as text, so that a process variable is taken as it is. */
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

/** Every default in the form in which a person writes it; sections that are off by default are left out. */
export function writtenDefaults(schema: z.ZodType): Record<string, unknown> {
  const settings = Object.entries(shapeOf(schema) ?? {}).map(([key, child]): [string, unknown] => {
    const written = writtenDefault(child);
    return [key, written !== undefined && shapeOf(child) ? writtenDefaults(child) : written];
  });
  return Object.fromEntries(settings.filter(([, value]) => value !== undefined));
}
