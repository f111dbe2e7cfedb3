import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import type { z } from 'zod';
import { App } from '../../src/app.ts';
import { parseConfig } from '../../src/config/load.ts';
import { createLog } from '../../src/http/log.ts';
import type { Operation } from '../../src/http/operation.ts';
import { Described } from './described.ts';

const remedy = 'put an example where the schema is declared: `.meta({ examples: [...] })`';

describe('the OpenAPI document', () => {
  const app = new App({
    config: parseConfig({}),
    connection: {
      server: 'https://localhost',
      tls: {},
      namespace: undefined,
      authorization: async () => undefined,
      discardAuthorization() {},
    },
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

    expect(unknown, 'describe the tag in src/http/openapi-tags.ts').to.deep.equal([]);
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
          .filter(([, { schema, examples }]) => schema !== undefined && examples === undefined)
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
    const bodiesOf = ({ body, describedBody }: Operation): z.ZodType[] => Object.values(describedBody ?? (body ? { body } : {}));
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

  it('says of each path with parameters that there may be nothing there', () => {
    const silent = operations.filter(({ path, responses }) => path.includes('{') && responses[404] === undefined);

    expect(silent.map(({ operationId }) => operationId)).to.deep.equal([]);
  });
});
