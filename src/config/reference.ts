import type { z } from 'zod';
import { configSchema } from './schema.ts';
import { shapeOf, writtenDefault } from './schema-tree.ts';

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
  const sections = Object.entries(configSchema.shape).map(([name, schema]) =>
    [
      `## ${name}`,
      '',
      schema.meta()?.description ?? '',
      '',
      '| Setting | Type | Default | Meaning |',
      '|---|---|---|---|',
      ...rows(name, schema),
    ].join('\n'),
  );
  return `# Configuration

\`npm run docs\` prints this page from the schema.

Settings stand in one YAML file (\`atrium serve --config FILE\`, default \`/etc/atrium/config.yaml\`). An absent default
file counts as empty. A process variable overrides a setting: \`ATRIUM_\`, then its path in upper case with \`__\` between,
such as \`ATRIUM_SERVER__PORT=8080\`. Text is taken as it is, anything else is read as YAML
(\`ATRIUM_SERVER__TRUSTEDPROXIES='[10.0.0.0/8]'\`). Secrets are only ever given as paths of files. Durations are written
\`250ms\`, \`30s\`, \`5m\`, \`12h\`, \`7d\`; sizes \`512KiB\`, \`1MiB\`.

\`atrium config check\` tells every problem at once, each with its path, and with \`--connect\` also which issuer and
whether the API server cannot be reached. \`atrium config print\` shows what is in force, defaults included. With a
problem in its configuration the service exits with code 2 before it listens.

${sections.join('\n\n')}
`;
}
