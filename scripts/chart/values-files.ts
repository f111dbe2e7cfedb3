/** Files that are generated from the values of the chart: values.schema.json and the tables of README.md. */
import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { z } from 'zod';
import { profiles } from '../../src/config/profiles.ts';
import { writtenDefaults } from '../../src/config/reference.ts';
import { configSchema } from '../../src/config/schema.ts';
import { sizeMessage, sizePattern } from '../../src/config/units.ts';
import { valuesSchema } from './values.ts';
import { type ValueComment, valueComments } from './values-comments.ts';

export const chartDirectory = new URL('../../deploy/helm/atrium/', import.meta.url);

const read = (name: string) => readFileSync(new URL(name, chartDirectory), 'utf8');

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Returns values.schema.json: every value with its type and its comment, those of `config` with the text of docs/configuration.md. */
export function valuesSchemaFile(): string {
  const schema: JsonSchema = z.toJSONSchema(valuesSchema, {
    io: 'input',
    target: 'draft-7',
    override({ zodSchema, jsonSchema }) {
      // Helm reports the names of members at the path of another value.
      const { propertyNames: names, additionalProperties: members } = jsonSchema;
      const pattern = typeof names === 'object' ? (names.if as JsonSchema | undefined)?.pattern : undefined;
      if (pattern !== undefined && members !== undefined) {
        jsonSchema.patternProperties = { [pattern]: members };
        jsonSchema.additionalProperties = false;
        delete jsonSchema.propertyNames;
      }
      // A size, which the translation to JSON Schema loses.
      if (jsonSchema.title === 'size')
        jsonSchema.anyOf = [
          { type: 'integer', minimum: 0 },
          { type: 'string', ...inWords(sizeFormat) },
        ];
      if (jsonSchema.pattern === undefined) return;
      const { pattern: format, ...others } = jsonSchema;
      for (const key of ['pattern', 'format']) delete jsonSchema[key];
      Object.assign(jsonSchema, others, inWords({ pattern: format, message: messageOf(zodSchema) }));
    },
  });
  for (const { path, comment } of valueComments(read('values.yaml'))) {
    const at = path.reduce<JsonSchema | undefined>((parent, key) => propertyOf(parent, key), schema);
    if (at === undefined) throw new Error(`values.yaml: ${path.join('.')} is not in scripts/chart/values.ts`);
    at.description = comment;
  }
  return `${JSON.stringify(schema, null, 2).replaceAll(expandedFormat, '"if": { "pattern": $1 }, "else": { "const": $2 }')}\n`;
}

/** A format takes one line of the file. */
const expandedFormat = /"if": \{\s+"pattern": (.*)\s+\},\s+"else": \{\s+"const": (.*)\s+\}/g;

/** Returns files/defaults.yaml: the defaults of all settings, for templates that depend on settings. */
export const defaultsFile = (): string =>
  `# Defaults of docs/configuration.md, made by \`npm run chart\` from src/config.\n${stringify(writtenDefaults(configSchema), { lineWidth: 0 })}`;

/** Returns files/profiles.yaml: the settings of each profile, for templates that depend on settings. */
export const profilesFile = (): string =>
  `# Settings of the profiles, made by \`npm run chart\` from src/config.\n${stringify(profiles, { aliasDuplicateObjects: false })}`;

interface Format {
  pattern: string;
  /** The sentence by which the service refuses another text. */
  message: string;
}

/** Helm prints a pattern as it is, and a constant in words: `value must be 'a duration such as 30s'`. */
function inWords({ pattern, message }: Format): JsonSchema {
  const [, words] = /^must be (.+)$/.exec(message) ?? [];
  if (words === undefined) throw new Error(`the message of ${pattern} does not begin with "must be": ${message}`);
  return { if: { pattern }, else: { const: words } };
}

/** Texts of which each format refuses one. */
const wrongTexts = ['\0 \0', '/\0', ''];

/** Returns the message of a format for a text that it refuses. */
function messageOf(schema: z.core.$ZodType): string {
  const [issue] = wrongTexts.flatMap((text) => z.safeParse(schema, text).error?.issues ?? []);
  return issue?.message ?? '';
}

const sizeFormat: Format = { pattern: sizePattern.source, message: sizeMessage };

function propertyOf(schema: JsonSchema | undefined, key: string): JsonSchema | undefined {
  const property = schema?.properties?.[key];
  return typeof property === 'object' ? property : undefined;
}

const begin = '<!-- values: made by `npm run chart` -->\n';
const end = '<!-- end of values -->\n';

/** Returns README.md with the tables for the current values.yaml. */
export function readmeFile(): string {
  const text = read('README.md');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error('README.md of the chart has no place for the values');
  return text.slice(0, from + begin.length) + table(valueComments(read('values.yaml'))) + text.slice(to);
}

function table(values: readonly ValueComment[]): string {
  const rows = values.map(({ path, comment, default: value, isSection }) => {
    const shown = isSection ? '' : `\`${JSON.stringify(value)}\``;
    return `| \`${path.join('.')}\` | ${shown} | ${comment} |`.replaceAll(/(?<=\w)\|(?=\w)/g, '\\|');
  });
  return ['', '| Value | Default | Meaning |', '|---|---|---|', ...rows, '', ''].join('\n');
}
