import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { aPolicy, user } from '../access-requests/support.ts';
import { aReview } from '../binding-reviews/support.ts';
import { configMap, publicLabel } from '../console/objects.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { aMachine, audience, branch, exchangeForm, workloadToken } from '../token-exchange/workloads.ts';
import { Described, type DescribedOperation } from './described.ts';

const email = 'root@example.com';
const password = 'Zuihitsu-84-bloom';
const jane = '8c87b489ce35cf2e2f39f80e282cb2e8';
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const logIn = z.looseObject({ ext: z.looseObject({ token: z.looseObject({ access_token: z.string(), refresh_token: z.string() }) }) });

/** Operations that create objects from the example of their body, before any object is read. */
const creations = [
  'CreateUser',
  'CreateGroup',
  'AddGroupMembers',
  'CreateUserBinding',
  'CreateAccessToken',
  'CreateTokenReview',
  'CreateSelfSubjectAccessReview',
  'CreateSelfSubjectAccessReviewNative',
  'CreateSelfSubjectRulesReview',
  'PatchUser',
  'PatchGroup',
];

const roles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'roles' };

/** Values of path parameters, for one operation or for all. */
const parameters: Record<string, Record<string, string>> = {
  '': { name: jane },
  GetGroup: { name: 'oncall' },
  PatchGroup: { name: 'oncall' },
  AddGroupMembers: { name: 'oncall' },
  GetUserBinding: { name: 'jane-edit-shop' },
  GetPluginAsset: { plugin: 'cost-report', path: 'entry.js' },
  GetThroughPlugin: { plugin: 'cost-report', alias: 'none', path: 'index' },
  ListResources: { group: 'core', version: 'v1', resource: 'namespaces' },
  ListNamespacedResources: { ...roles, namespace: 'shop' },
  GetNamespaceUsage: { namespace: 'shop' },
  GetObjectUsage: { namespace: 'shop', resource: 'pods', name: 'web-0' },
  GetKubernetes: { path: 'version' },
  HandleConfigMapImage: { name: 'console-logo', key: 'logo.png' },
  HandleStaticFiles: { subpath: 'index.html' },
  DocsFile: { file: 'page.js' },
  GetAuditEvent: { id: 'an-event' },
  GetRecording: { id: 'a-recording' },
  DeleteRecording: { id: 'a-recording' },
};

const queries: Record<string, string> = {
  ListNamespaces: '?verb=list&resource=pods',
  ListAccessSubjects: '?verb=list&resource=pods',
  ListAccessRules: '?group=dev',
  GetAccessOptions: '?verb=get&resource=pods',
  ListMemberships: `?names=${jane}`,
  Search: '?q=jane',
  ListUsersRoles: `?name=${jane}`,
};

/** Operations whose object does not exist here. */
const absent = new Set([
  'GetUsersSync',
  'GetThroughPlugin',
  'ListAuditEvents',
  'CountAuditEvents',
  'ExportAuditEvents',
  'GetAuditEvent',
  'GetAuditStatus',
  'ListAuditCheckpoints',
  'ReadAuditChain',
  'ListRecordings',
  'GetRecording',
  'DeleteRecording',
]);

describe('the service, by its OpenAPI document', () => {
  const lists = { resources: [{ version: 'v1', resource: 'namespaces' }, roles] };
  const provider = forSuite(() => TestProvider.start({ clientID: audience }));
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [email],
      password,
      lists,
      features: { accessRequests: true, tokenExchange: true },
      tokenExchange: { issuers: [{ id: 'ci', issuer: provider.issuer, audience }] },
    }),
  );
  let described: Described;
  let token: string;
  let refreshToken: string;
  /** Callback address with the answer of the issuer. */
  let callback: string;

  before(async () => {
    await service.admin.apply(
      clusterRoleBinding('root', 'cluster-admin', { kind: 'User', name: email }),
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      configMap('console-logo', publicLabel, { binaryData: { 'logo.png': png } }),
      configMap(
        'cost-report-console',
        { ...publicLabel, 'console.platform.io/plugin': 'cost-report' },
        { data: { 'entry.js': 'export {};' } },
      ),
    );
    described = new Described(await (await service.request('/openapi/v3')).json());
    const { body } = await service.logIn(email, password, '?token_storage=local');
    ({ access_token: token, refresh_token: refreshToken } = logIn.parse(JSON.parse(body)).ext.token);
    parameters.GetAccessRequest = { name: await anAccessRequest() };
    await service.admin.apply(aReview(jane));
    await eventually(
      () => service.request(`/auth/v1/bindingreviews/${jane}`, { headers: { authorization: `Bearer ${token}` } }),
      ({ status }) => status === 200,
    );
  });

  /** Asks for a role of a policy, whose name is that of the other parameters. @returns the name of the request */
  async function anAccessRequest(): Promise<string> {
    await service.admin.apply(
      aPolicy(jane, { subjects: [user(email)], approvers: [user('ada@example.com')], roleRefs: ['view'], scope: { cluster: true } }),
    );
    const answer = await eventually(
      () =>
        service.request('/auth/v1/accessrequests', {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            ...{ policy: jane, roleRef: 'view', scope: 'platform' },
            ...{ reason: 'to try the document', durationSeconds: 3600 },
          }),
        }),
      ({ status }) => status === 201,
    );
    return z.object({ metadata: z.object({ name: z.string() }) }).parse(await answer.json()).metadata.name;
  }

  const operation = (id: string): DescribedOperation => {
    const found = described.operations.find(({ operationId }) => operationId === id);
    if (found === undefined) throw new Error(`the document has no ${id}`);
    return found;
  };

  const pathOf = ({ operationId, path }: DescribedOperation) =>
    path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = parameters[operationId]?.[name] ?? parameters['']?.[name];
      if (value === undefined) throw new Error(`${operationId} has a parameter ${name}: say which in ${import.meta.filename}`);
      return value;
    }) + (queries[operationId] ?? '');

  /** Returns the differences between an answer and the document. */
  async function problemsOf(
    one: DescribedOperation,
    { path = pathOf(one), body, type }: { path?: string; body?: string; type?: string } = {},
  ) {
    const headers = { authorization: `Bearer ${token}`, ...(type && { 'content-type': type }) };
    const response = await service.request(path, { method: one.method.toUpperCase(), headers, redirect: 'manual', ...(body && { body }) });
    return judge(one, response.status, response.headers.get('content-type') ?? '', await response.text());
  }

  function judge(one: DescribedOperation, status: number, contentType: string, text: string): string[] {
    const where = `${one.operationId} answered ${status}`;
    const answer = described.responseOf(one, String(status)) ?? described.responseOf(one, 'default');
    if (answer === undefined) return [`${where}, which is not described`];
    if (status >= 400 !== absent.has(one.operationId)) return [`${where}: ${text.slice(0, 300)}`];
    if (answer.content === undefined) return text === '' || status >= 300 ? [] : [`${where} with a body`];
    const [plain = ''] = contentType.split(';');
    const type = [contentType, plain, `${plain.split('/')[0]}/*`, '*/*'].find((one) => answer.content?.[one]) ?? '';
    const media = answer.content[type];
    if (media === undefined) return [`${where} with ${contentType}`];
    if (media.schema === undefined) return [];
    // Answers that are passed on may have any media type, which the document declares.
    const value: unknown = type !== '*/*' && plain.endsWith('/json') ? JSON.parse(text) : text;
    return described.problems(media.schema, value).map((problem) => `${where}: ${problem}`);
  }

  it('takes the examples of bodies as they are', async () => {
    for (const id of creations) {
      const one = operation(id);
      for (const [type, { examples = {} }] of Object.entries(one.requestBody?.content ?? {})) {
        for (const example of Object.values(examples))
          expect(await problemsOf(one, { type, body: JSON.stringify(described.example(example)) }), type).to.deep.equal([]);
      }
    }
  });

  it('answers every GET as it is described', async () => {
    const own = /^Handle(Callback|Refresh|Logout)/;
    const gets = described.operations.filter(({ method, operationId }) => method === 'get' && !own.test(operationId));
    const problems: string[] = [];
    for (const one of gets) problems.push(...(await problemsOf(one)));

    expect(problems).to.deep.equal([]);
    expect(gets.length).to.be.above(35);
  });

  it('answers discovery in every form as it is described', async () => {
    const one = operation('ListGroupVersions');
    for (const type of Object.keys(one.responses[200]?.content ?? {})) {
      const response = await service.request('/apis', { headers: { accept: type } });
      expect(response.headers.get('content-type')).to.contain(type);
      expect(judge(one, response.status, type, JSON.stringify(await response.json()))).to.deep.equal([]);
    }
  });

  it('answers an exchange as it is described', async () => {
    const one = operation('ExchangeToken');
    await service.admin.apply(aMachine('shop', [{ issuer: provider.issuer, audience, claims: { sub: branch } }]));
    const [type = ''] = Object.keys(one.requestBody?.content ?? {});
    const body = exchangeForm(workloadToken(provider), { client_id: 'shop', scope: 'read' });
    const response = await eventually(
      () => service.request(one.path, { method: 'POST', headers: { 'content-type': type }, body }),
      ({ status }) => status === 200,
    );
    expect(judge(one, 200, response.headers.get('content-type') ?? '', await response.text())).to.deep.equal([]);
  });

  it('answers a login, its renewal and its end as they are described', async () => {
    for (const [id, storage] of [
      ['HandleCallbackV2', 'cookie'],
      ['HandleCallback', 'local'],
    ] as const) {
      const { browser, back } = await service.authorize(email, password, `?token_storage=${storage}`);
      callback = `${service.url}${operation(id).path}${back.search}`;
      const { response, body } = await browser.get(callback);
      expect(judge(operation(id), response.status, response.headers.get('content-type') ?? '', body)).to.deep.equal([]);
    }
    for (const id of ['HandleRefresh', 'HandleRefreshV2', 'HandleLogoutV2']) {
      const path = `${operation(id).path}?refresh_token=${encodeURIComponent(refreshToken)}`;
      const response = await service.request(path);
      const body = await response.text();
      expect(judge(operation(id), response.status, response.headers.get('content-type') ?? '', body)).to.deep.equal([]);
      refreshToken = z.looseObject({ refresh_token: z.string().default('') }).parse(JSON.parse(body)).refresh_token;
    }
  });
});
