import { expect } from 'chai';
import { z } from 'zod';
import { recordName } from '../../../src/users/record/account.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Described, type DescribedOperation } from './described.ts';

const email = 'root@example.com';
const password = 'Zuihitsu-84-bloom';

const logIn = z.looseObject({ ext: z.looseObject({ token: z.looseObject({ access_token: z.string() }) }) });
const refusal = z.object({
  message: z.string(),
  reason: z.string(),
  details: z.looseObject({ causes: z.array(z.looseObject({ reason: z.string(), message: z.string(), field: z.string().optional() })) }),
});

/** Default messages of zod, which tell a caller nothing. */
const validatorWords =
  /invalid (input|option|string|key|element|iso|url|datetime)|unrecognized|too (small|big): expected|received (undefined|nan|null|string|number|object|array)|\bundefined\b|\bnan\b|: is not valid|does not have the required form/i;

const values = { string: 'x', number: 7.5, object: { made_up: 1 } };

interface Attempt {
  what: string;
  path: string;
  method: string;
  type?: string;
  body?: string;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns variants of an example, in which one member is missing or has a value of each other type. */
function variants(example: unknown): { what: string; body: unknown }[] {
  if (Array.isArray(example))
    return variants(example[0]).map(({ what, body }) => ({ what: `[0]${what}`, body: [body, ...example.slice(1)] }));
  const replaced = Object.entries(values).map(([kind, body]) => ({ what: ` = ${kind}`, body }));
  if (!isObject(example)) return replaced;
  const members = Object.entries(example).flatMap(([name, value]) => {
    const { [name]: _taken, ...rest } = example;
    const changed = variants(value).map(({ what, body }) => ({ what: `.${name}${what}`, body: { ...example, [name]: body } }));
    return [{ what: `.${name} taken away`, body: rest }, ...changed];
  });
  return [...replaced, ...members];
}

const formOf = (body: unknown) =>
  new URLSearchParams(
    isObject(body) ? Object.entries(body).map(([name, value]): [string, string] => [name, String(value)]) : [],
  ).toString();

describe('the message for a mistake in a request', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [email], password, features: { accessRequests: true } }));
  let described: Described;
  let token: string;

  before(async () => {
    await service.admin.apply(clusterRoleBinding('root', 'cluster-admin', { kind: 'User', name: email }));
    await service.admin.apply({ apiVersion: 'auth.platform.io/v1', kind: 'Group', metadata: { name: 'oncall' }, spec: {} });
    described = new Described(await (await service.request('/openapi/v3')).json());
    token = logIn.parse(JSON.parse((await service.logIn(email, password, '?token_storage=local')).body)).ext.token.access_token;
  });

  const pathOf = ({ path }: DescribedOperation) =>
    path.replaceAll(/\{\w+\}/g, path.includes('/users/') ? (recordName(email) ?? '') : path.includes('/groups/') ? 'oncall' : 'made-up');

  async function answerTo({ path, method, type, body }: Attempt) {
    // A logout would revoke the bearer token of the request.
    const needsNone = path.startsWith('/api/') && path.includes('/token/');
    const headers = { ...(!needsNone && { authorization: `Bearer ${token}` }), ...(type && { 'content-type': type }) };
    const response = await service.request(path, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) });
    return { status: response.status, text: await response.text() };
  }

  const queryOf = ({ parameters }: DescribedOperation) => parameters.filter(({ in: where }) => where === 'query');

  it('says that a missing parameter is required', async () => {
    const attempts = described.operations.flatMap((one) => queryOf(one).flatMap(({ name, required }) => (required ? [{ one, name }] : [])));
    expect(attempts.map(({ one, name }) => `${one.operationId} ${name}`)).to.include.members([
      'HandleCallback state',
      'HandleRefresh refresh_token',
      'ListNamespaces verb',
    ]);

    // The callback reports a missing code only after it has found the flow.
    for (const { one, name } of attempts.filter((attempt) => attempt.name !== 'code')) {
      const others = queryOf(one).flatMap((other) => (other.required && other.name !== name ? [`${other.name}=${'x'.repeat(43)}`] : []));
      const { status, text } = await answerTo({ what: name, method: one.method.toUpperCase(), path: `${pathOf(one)}?${others.join('&')}` });
      expect(status, text).to.equal(400);
      const { message, details } = refusal.parse(JSON.parse(text));
      expect(message).to.equal(`${name}: is required`);
      expect(details.causes).to.deep.equal([{ reason: 'FieldValueRequired', message: 'is required', field: name }]);
    }
  });

  it('never uses the words of the validator', async () => {
    const attempts = described.operations.flatMap((one): Attempt[] => {
      const method = one.method.toUpperCase();
      // The answer to a watch does not end.
      const parameters = queryOf(one).filter(({ name }) => name !== 'watch');
      const inQuery = parameters.flatMap(({ name }) =>
        ['', 'x', '-1'].map((value) => ({
          what: `${one.operationId} ?${name}=${value}`,
          method,
          path: `${pathOf(one)}?${name}=${value}`,
        })),
      );
      const inBody = Object.entries(one.requestBody?.content ?? {}).flatMap(([type, { examples = {} }]) =>
        Object.values(examples).flatMap((example) =>
          variants(described.example(example)).map(({ what, body }) => ({
            what: `${one.operationId} ${type}${what}`,
            method,
            // A variant that is valid by chance must change nothing.
            path: `${pathOf(one)}${queryOf(one).some(({ name }) => name === 'dryRun') ? '?dryRun=All' : ''}`,
            type,
            body: type.includes('json') ? JSON.stringify(body) : formOf(body),
          })),
        ),
      );
      return [...inQuery, ...inBody];
    });

    const counts: Record<number, number> = {};
    const wrong: string[] = [];
    for (const attempt of attempts) {
      const { status, text } = await answerTo(attempt);
      counts[status] = (counts[status] ?? 0) + 1;
      if (status >= 400 && validatorWords.test(text)) wrong.push(`${attempt.what}: ${text}`);
      if (status >= 500) wrong.push(`${attempt.what}: ${text}`);
    }

    expect(wrong).to.deep.equal([]);
    expect(counts[400]).to.be.above(300);
    expect(counts[422]).to.be.above(80);
  });
});
