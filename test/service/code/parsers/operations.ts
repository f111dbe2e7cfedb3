/** Parsers of the schemas of each operation: a new operation is measured without a line here. */
import { decodeJson } from '@atrium/http/body.ts';
import { badInput, parseQuery, repeatableParameters } from '@atrium/http/input.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { jsonPatchType, mergePatchOf } from '@atrium/objects/json-patch.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { readObject, validate } from '@atrium/objects/validation.ts';
import { z } from 'zod';
import { App } from '../../../../src/app.ts';
import { parseConfig } from '../../../../src/config/load.ts';
import { KiB, MiB, type Parser } from './parser.ts';

/** The service, which is described and not started. */
export const app = new App({
  config: parseConfig({ yaml: 'server: { publicURL: https://console.example.com }' }),
  connection: {
    server: 'https://localhost',
    tls: {},
    namespace: undefined,
    authorization: async () => undefined,
    discardAuthorization: () => undefined,
  },
  environment: {},
  log: createLog({ level: 'silent', format: 'json' }),
});

/** Includes the text of the refusal, like an answer. */
function answered(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error instanceof StatusError ? JSON.stringify(error.status) : error;
  }
}

export const queryParsers: readonly Parser[] = app.operations.flatMap(({ id, query }): Parser[] => {
  const names = Object.keys(query.shape);
  if (names.length === 0) return [];
  const repeatable = repeatableParameters(query);
  const frames = names.map((name) => [`${name}=`, ''] as const);
  return [
    {
      name: `query of ${id}`,
      limit: 16 * KiB,
      frames: [['', ''], ...frames],
      parse: (text) => answered(() => parseQuery(query, repeatable, new URLSearchParams(text))),
    },
  ];
});

type Frame = readonly [before: string, after: string];

/** Returns frames around each text in an example of a body. */
function textFrames(value: unknown): Frame[] {
  if (typeof value === 'string') return [['"', '"']];
  if (typeof value !== 'object' || value === null) return [];
  const members = Object.entries(value);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return members.flatMap(([name, member], index) => {
    const shown = members.map(([key, other]) => `${Array.isArray(value) ? '' : `${JSON.stringify(key)}:`}${JSON.stringify(other)}`);
    const key = Array.isArray(value) ? '' : `${JSON.stringify(name)}:`;
    const before = [...shown.slice(0, index), ''].join(',');
    const after = ['', ...shown.slice(index + 1)].join(',');
    return textFrames(member).map(([first, last]): Frame => [`${open}${before}${key}${first}`, `${last}${after}${close}`]);
  });
}

/** Returns frames for the whole example, and for its last text. */
const valueFrames = (value: unknown): Frame[] => [
  ['', ''],
  ...textFrames(value)
    .slice(-1)
    .map(([before, after]): Frame => [before.slice(0, -1), after.slice(1)]),
];

const kinds = { group: 'auth.platform.io', kind: 'User', name: 'a' };

function readBody(schema: z.ZodType, type: string, text: string): unknown {
  const body = decodeJson(text);
  const { patch } = type === jsonPatchType ? mergePatchOf(body, kinds) : { patch: body };
  // Unknown fields are found, and removed.
  return answered(() => readObject(schema, patch, { ...kinds, fieldValidation: 'Warn' }));
}

function parsersOf(name: string, schema: z.ZodType, read: (text: string) => unknown): Parser[] {
  const [example] = schema.meta()?.examples ?? [];
  const parse = (text: string) => answered(() => read(text));
  return [
    { name: `texts of ${name}`, limit: MiB, kind: 'json text', frames: textFrames(example), parse },
    { name, limit: MiB, kind: 'json value', frames: valueFrames(example), parse },
  ];
}

export const bodyParsers: readonly Parser[] = app.operations.flatMap(({ id, body, described }): Parser[] => {
  const checked = (text: string) => {
    const result = validate(body ?? z.unknown(), decodeJson(text));
    if (!result.success) throw badInput(result.violations);
  };
  const types = Object.keys(described?.body ?? {}).filter((type) => /json$/.test(type));
  // Merge patches are one parser for all their media types.
  const read = [types.find((type) => type !== jsonPatchType), types.find((type) => type === jsonPatchType)];
  const inHandler = Object.entries(described?.body ?? {}).filter(([type]) => read.includes(type));
  return [
    ...(body === undefined || inHandler.length > 0 ? [] : parsersOf(`body of ${id}`, body, checked)),
    ...inHandler.flatMap(([type, schema]) => parsersOf(`body of ${id} (${type})`, schema, (text) => readBody(schema, type, text))),
  ];
});
