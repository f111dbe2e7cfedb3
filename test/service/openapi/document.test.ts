import { readFile } from 'node:fs/promises';
import type { Operation } from '@atrium/http/operation.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import { App } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { noConnection } from '../../support/installed-cluster.ts';
import { Described } from './described.ts';

interface JsonSchema {
  $ref?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
}

/** Returns all objects of a document that may be schemas. */
function schemasIn(value: unknown, path: string): { schema: { default?: unknown; type?: unknown; not?: unknown }; path: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value).flatMap(([key, member]) => (/^examples?$/.test(key) ? [] : schemasIn(member, `${path}/${key}`)));
  // Members of an object may have the names of keywords.
  return path.endsWith('/properties') ? below : [{ schema: value, path }, ...below];
}

const definitionSchema = z.looseObject({
  spec: z.looseObject({ versions: z.array(z.looseObject({ schema: z.looseObject({ openAPIV3Schema: z.custom<JsonSchema>() }) })) }),
});

const remedy = 'put an example where the schema is declared: `.meta({ examples: [...] })`';

describe('the OpenAPI document', () => {
  const app = new App({
    config: parseConfig({}),
    connection: noConnection,
    environment: {},
    log: createLog({ level: 'silent', format: 'json' }),
  });
  const document = JSON.parse(JSON.stringify(App.describe()));
  const described = new Described(document);
  const { operations } = described;

  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));

    expect(errors, JSON.stringify(errors)).to.equal(undefined);
    expect(valid).to.equal(true);
  });

  it('puts every operation below a tag that says what it is', () => {
    const unknown = operations.flatMap(({ operationId, tags }) =>
      tags.filter((tag) => !described.tags.has(tag)).map((tag) => `${operationId}: ${tag}`),
    );

    expect(unknown, 'describe the tag in src/meta/service-description.ts').to.deep.equal([]);
  });

  it('describes every parameter', () => {
    const silent = operations.flatMap(({ operationId, parameters }) =>
      parameters.filter(({ description = '' }) => description === '').map(({ name, in: where }) => `${operationId}: ${where} ${name}`),
    );

    expect(silent, 'say what it does: `.describe(...)`').to.deep.equal([]);
  });

  it('shows an example of every body that is sent', () => {
    const bare = operations.flatMap(({ operationId, requestBody }) =>
      Object.entries(requestBody?.content ?? {})
        .filter(([, { schema, examples }]) => Object.keys(schema ?? {}).length > 0 && examples === undefined)
        .map(([type]) => `${operationId}: ${type}`),
    );

    expect(bare, remedy).to.deep.equal([]);
  });

  it('shows an example of every answer, failures included', () => {
    const bare = operations.flatMap((operation) =>
      Object.keys(operation.responses).flatMap((code) =>
        Object.entries(described.responseOf(operation, code)?.content ?? {})
          .filter(([, { schema, examples }]) => schema?.format !== 'binary' && examples === undefined)
          .map(([type]) => `${operation.operationId}: ${code} ${type}`),
      ),
    );

    expect(bare, remedy).to.deep.equal([]);
  });

  it('has no example that its own schema refuses', () => {
    const wrong = operations.flatMap((operation) => {
      const contents = [
        ...Object.entries(operation.requestBody?.content ?? {}).map(([type, media]) => ({ where: `body ${type}`, media })),
        ...Object.keys(operation.responses).flatMap((code) =>
          Object.values(described.responseOf(operation, code)?.content ?? {}).map((media) => ({ where: code, media })),
        ),
      ];
      return contents.flatMap(({ where, media: { schema, examples = {} } }) =>
        Object.values(examples).flatMap((example) =>
          described.problems(schema ?? {}, described.example(example)).map((problem) => `${operation.operationId}, ${where}: ${problem}`),
        ),
      );
    });

    expect(wrong).to.deep.equal([]);
  });

  it('has no example of a body that the service itself would refuse', () => {
    const bodiesOf = ({ body, described: only }: Operation): z.ZodType[] => Object.values(only?.body ?? (body ? { body } : {}));
    const wrong = app.operations.flatMap((operation) =>
      bodiesOf(operation).flatMap((schema) =>
        (schema.meta()?.examples ?? []).flatMap((example) => {
          const { error } = schema.safeParse(example);
          return error ? [`${operation.id}: ${error.message}`] : [];
        }),
      ),
    );

    expect(wrong).to.deep.equal([]);
  });

  it('has a 404 for each path with parameters', () => {
    const silent = operations.filter(({ path, responses }) => path.includes('{') && responses[404] === undefined);

    expect(silent.map(({ operationId }) => operationId)).to.deep.equal([]);
  });

  it('has a schema for every body, by media type', () => {
    const bare = operations.flatMap((operation) =>
      Object.keys(operation.responses).flatMap((code) =>
        Object.entries(described.responseOf(operation, code)?.content ?? {})
          .filter(([, { schema }]) => schema === undefined)
          .map(([type]) => `${operation.operationId}: ${code} ${type}`),
      ),
    );

    expect(bare).to.deep.equal([]);
  });

  it('names every operation once, with a name that means something', () => {
    const ids = operations.map(({ operationId }) => operationId);

    expect(ids.filter((id) => !/^[A-Z][A-Za-z0-9]*$/.test(id))).to.deep.equal([]);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).to.deep.equal([]);
    expect(ids).to.include.members(['Livez', 'Healthz', 'HandleLogin', 'HandleLoginV2', 'CreateSelfSubjectAccessReviewNative']);
  });

  it('has numbers and booleans where they are meant', () => {
    const types: Record<string, string> = {
      limit: 'integer',
      page: 'integer',
      timeoutSeconds: 'integer',
      watch: 'boolean',
      allowWatchBookmarks: 'boolean',
      sendInitialEvents: 'boolean',
      explain: 'boolean',
    };
    const found = operations.flatMap(({ operationId, parameters }) =>
      parameters.flatMap(({ name, schema }) => (name in types ? [{ operationId, name, type: schema?.type }] : [])),
    );

    expect(found.filter(({ name, type }) => type !== types[name])).to.deep.equal([]);
    expect(new Set(found.map(({ name }) => name)).size).to.equal(Object.keys(types).length);
  });

  it('requires the code of a callback, because clients must send it', () => {
    for (const id of ['HandleCallback', 'HandleCallbackV2']) {
      const callback = operations.find(({ operationId }) => operationId === id);
      const required = callback?.parameters.filter((parameter) => parameter.required).map(({ name }) => name);
      expect(required).to.have.members(['state', 'code']);
    }
  });

  it('holds nothing that generators of clients stumble over', () => {
    const stumbling = schemasIn(document, '').flatMap(({ schema: { default: whenAbsent, type, not }, path }) => [
      ...(typeof whenAbsent === 'object' && type !== undefined ? [`${path} has a default that is no plain value`] : []),
      ...(type === 'null' ? [`${path} is nothing but null`] : []),
      ...(not !== undefined ? [`${path} says what it is not`] : []),
    ]);

    expect(stumbling).to.deep.equal([]);
  });

  it('has no schema whose name collides with generated constructors or with types of languages', () => {
    const names = Object.keys(document.components.schemas);
    const builtin =
      /^(Any|Array|Boolean|Date|Dict|Error|Exception|File|Function|List|Map|None|Null|Number|Object|Promise|Record|Request|Response|Set|String|Symbol|Type)$/i;

    expect(names.filter((name) => builtin.test(name))).to.deep.equal([]);
    expect(names.filter((name) => name.startsWith('New') && names.includes(name.slice(3)))).to.deep.equal([]);
    expect(names.filter((name) => names.some((other) => other !== name && other.toLowerCase() === name.toLowerCase()))).to.deep.equal([]);
  });

  describe('the members of custom resources', () => {
    /** Members that no answer contains. */
    const hidden: Record<string, readonly string[]> = { AccessToken: ['spec.tokenHash'], Session: ['spec.userUID', 'spec.sealed'] };

    for (const [kind, plural] of Object.entries({
      User: 'users',
      Group: 'groups',
      UserBinding: 'userbindings',
      AccessToken: 'accesstokens',
      Session: 'sessions',
    })) {
      it(`are all those of the definition: ${kind}`, async () => {
        const file = new URL(`../../../deploy/manifests/crds/${plural}.auth.platform.io.yaml`, import.meta.url);
        const definition = definitionSchema.parse(parse(await readFile(file, 'utf8')));
        const defined = definition.spec.versions.flatMap(({ schema }) =>
          ['spec', 'status'].flatMap((part) => membersOf(schema.openAPIV3Schema, part)),
        );
        const shown = ['spec', 'status'].flatMap((part) => membersOf(document.components.schemas[kind], part));

        expect(shown).to.include.members(defined.filter((path) => !hidden[kind]?.includes(path)));
        expect(shown.filter((path) => hidden[kind]?.includes(path))).to.deep.equal([]);
      });
    }

    /** Returns the paths of all members, in arrays too. */
    function membersOf(schema: JsonSchema | undefined, path: string): string[] {
      const member = resolve(schema)?.properties?.[path];
      return member === undefined ? [] : below(member, path);
    }

    function below(schema: JsonSchema, path: string): string[] {
      const { properties = {}, items } = resolve(schema) ?? {};
      if (items !== undefined) return below(items, `${path}[]`);
      return Object.entries(properties).flatMap(([name, member]) => [`${path}.${name}`, ...below(member, `${path}.${name}`)]);
    }

    const resolve = (schema: JsonSchema | undefined): JsonSchema | undefined =>
      schema?.$ref === undefined ? schema : document.components.schemas[schema.$ref.replace('#/components/schemas/', '')];
  });
});
