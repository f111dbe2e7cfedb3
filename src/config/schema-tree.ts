/** Reads the configuration schema itself: sections, defaults as written, descriptions. */
import type { z } from 'zod';

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
