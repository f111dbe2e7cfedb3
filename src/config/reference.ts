import type { z } from 'zod';
import { configSchema } from './schema.ts';
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

function writtenDefault(schema: z.ZodType): unknown {
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

const typeNames: Record<string, string> = {
  boolean: 'boolean',
  number: 'number',
  array: 'list',
  record: 'map',
  string: 'text',
  union: 'size',
};

function typeOf(schema: z.ZodType): string {
  const title = schema.meta()?.title;
  if (title !== undefined) return title;
  const { def } = schema._zod;
  if (def.type === 'enum' && 'entries' in def)
    return Object.values(def.entries as Record<string, string>)
      .map((value) => `\`${value}\``)
      .join(', ');
  for (const part of ['innerType', 'in'] as const) if (part in def) return typeOf((def as unknown as Record<typeof part, z.ZodType>)[part]);
  return typeNames[def.type] ?? def.type;
}

function shownDefault(schema: z.ZodType): string {
  const value = writtenDefault(schema);
  if (value === undefined) return '';
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``.replaceAll('|', '\\|');
}

function rows(path: string, schema: z.ZodType): string[] {
  const shape = shapeOf(schema);
  if (shape !== undefined) return Object.entries(shape).flatMap(([key, child]) => rows(`${path}.${key}`, child));
  const description = schema.meta()?.description ?? '';
  return [`| \`${path}\` | ${typeOf(schema)} | ${shownDefault(schema)} | ${description.replaceAll('|', '\\|')} |`];
}

/** Returns the complete docs/configuration.md. */
export function configurationReference(): string {
  const sections = Object.entries(configSchema.shape).map(([name, schema]) => {
    const meaning = shapeOf(schema) ? [schema.meta()?.description ?? '', ''] : [];
    return [`## ${name}`, '', ...meaning, '| Setting | Type | Default | Meaning |', '|---|---|---|---|', ...rows(name, schema)].join('\n');
  });
  return `# Configuration

\`npm run docs\` prints this page from the schema.

Atrium reads its settings from one YAML file (\`atrium serve --config FILE\`, default \`/etc/atrium/config.yaml\`).
Without the default file, all settings have their defaults. A process variable overrides a setting: \`ATRIUM_\`, then
its path in upper case with \`__\` between, such as \`ATRIUM_SERVER__PORT=8080\`. Text is taken as it is, anything else is
read as YAML (\`ATRIUM_SERVER__TRUSTEDPROXIES='[10.0.0.0/8]'\`). Secrets are only ever given as paths of files.
Durations are written \`250ms\`, \`30s\`, \`5m\`, \`12h\`, \`7d\`; sizes \`512KiB\`, \`1MiB\`.

\`atrium config check\` reports all problems at once, each with its path. With \`--connect\` it also reports issuers and
an API server that cannot be reached. \`atrium config print\` shows the effective settings, defaults included. With a
problem in its configuration the service exits with code 2 before it listens.

${sections.join('\n\n')}
`;
}
