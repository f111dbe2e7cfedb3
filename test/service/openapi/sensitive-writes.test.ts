/**
 * Operations that an access token may use, and those that require a recent login: each new operation has to be added to one of the two
 * tables.
 */
import { expect } from 'chai';
import { z } from 'zod';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import type { Browser } from '../identity/browser.ts';
import { Clock } from '../login/support.ts';
import { Described, type DescribedOperation } from './described.ts';
import { chief, type Guarded, guarded, jane } from './guarded-writes.ts';

const password = 'correct horse';
const mergePatch = 'application/merge-patch+json';

/** Operations that read, delete, or change an object without permissions. */
const free = [
  ...['Livez', 'Healthz', 'Readyz', 'Version', 'Metrics', 'OpenApi', 'Docs', 'DocsDirectory', 'DocsFile'],
  ...['ListGroupVersions', 'GetUserGroup', 'GetUserGroupResources', 'GetReviewGroup', 'GetReviewGroupResources'],
  ...['HandleConfigMapImage', 'HandleConsolePlugins', 'HandleEnvVars', 'HandleModules', 'HandleLanguages', 'HandleStaticFiles'],
  ...['GetPluginAsset', 'GetThroughPlugin', 'PostThroughPlugin', 'PutThroughPlugin', 'PatchThroughPlugin', 'DeleteThroughPlugin'],
  ...['HandleLogin', 'HandleLoginV2', 'HandleRedirect', 'HandleCallback', 'HandleCallbackV2', 'HandleInfo', 'HandleInfoV2'],
  ...['HandleRefresh', 'PostRefresh', 'HandleRefreshV2', 'PostRefreshV2', 'BackchannelLogout', 'ListLoginIssuers', 'ListLinkedAccounts'],
  ...['ListSessions', 'DeleteSession', 'SyncUsers', 'GetUsersSync', 'ListUsersRoles', 'GetPasswordKey', 'GetMe', 'ListUserFactors'],
  ...['ListUsersNative', 'GetUserNative', 'ListUsers', 'ListUsersV1', 'GetUser', 'DeleteUser', 'DeleteUsers'],
  ...['ListGroups', 'ListMemberships', 'GetGroup', 'PatchGroup', 'DeleteGroup', 'RemoveGroupMembers'],
  ...['ListUserBindings', 'ListBindableRoles', 'GetUserBinding', 'DeleteUserBinding', 'DeleteUserBindings'],
  ...['ListAccessTokens', 'DeleteAccessToken', 'CreateTokenReview', 'GetKubeconfig', 'ExchangeToken'],
  ...['CallAgentTools', 'GetMcpMetadata', 'GetProtectedResourceMetadata', 'ListChangeProposals', 'GetChangeProposal'],
  ...['CreateSelfSubjectAccessReview', 'CreateSelfSubjectAccessReviewNative', 'CreateSelfSubjectRulesReview', 'ListNamespaces'],
  ...['ListAccessSubjects', 'ListAccessRules', 'ListStandingAccess', 'CreateSubjectAccessReview', 'CreateSimulation'],
  ...['ListOfferedResources', 'ListResources', 'ListNamespacedResources', 'Search', 'GetKubernetes', 'OptionsKubernetes'],
  ...['GetClusterUsage', 'GetNodeUsage', 'GetNamespaceUsage', 'GetObjectUsage', 'ListAuditEvents', 'CountAuditEvents'],
  ...['ExportAuditEvents', 'GetAuditEvent', 'GetAuditStatus', 'ListAuditCheckpoints', 'ReadAuditChain'],
  ...['ListRecordings', 'GetRecording', 'DeleteRecording'],
];
/** Operations that end the session, which are tested last. */
const ending = ['HandleLogoutV2', 'PostLogoutV2', 'DeleteSessions'];

describe('operations that make a credential or a right', () => {
  const clock = new Clock();
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [chief, jane],
      password,
      credentials: 'impersonate',
      features: { tokenExchange: true, mcp: true },
      login: { stepUp: { operations: ['passwordReset', 'bindings', 'certificates', 'accessTokens'] } },
      now: clock.now,
    }),
  );
  let operations: readonly DescribedOperation[];
  let token: string;
  let browser: Browser;

  before(async () => {
    await service.admin.apply(clusterRoleBinding('chief', 'cluster-admin', { kind: 'User', name: chief }));
    await service.admin.apply({ apiVersion: 'auth.platform.io/v1', kind: 'Group', metadata: { name: 'oncall' }, spec: {} });
    operations = new Described(await (await service.request('/openapi/v3')).json()).operations;
    ({ browser } = await service.logIn(chief, password));
    const made = await ask(service, cookieOf(browser), ['POST', '/auth/v1/accesstoken', { description: 'ci' }]);
    token = z.object({ token: z.string() }).parse(made.body).token;
    clock.advance(360);
  });

  it('S6 are each placed in a table', () => {
    const placed = [...new Set(guarded.map(({ operation }) => operation)), ...free, ...ending];
    expect(operations.map(({ operationId }) => operationId)).to.have.members(placed);
  });

  for (const { operation, request, token: cause, needsRecentLogin } of guarded)
    it(`S6 S15 require ${needsRecentLogin ? 'a recent login' : 'no recent login'}: ${operation} ${request[1].slice(0, 60)}`, async () => {
      const byToken = await ask(service, { authorization: `Bearer ${token}` }, request);
      expect(`${byToken.status} ${reasonIn(byToken)}`).to.equal(`403 ${cause}`);
      const bySession = await ask(service, cookieOf(browser), request);
      if (needsRecentLogin) expect(`${bySession.status} ${reasonIn(bySession)}`).to.equal('401 StepUpRequired');
      else expect(bySession.status).not.to.be.oneOf([401, 403]);
    });

  const describedAs = (id: string) => operations.filter(({ operationId }) => operationId === id);

  it('S6 are all that refuse an access token or an old login', async () => {
    for (const { operationId, method, path, parameters } of [...free, ...ending].flatMap(describedAs)) {
      const dryRun = parameters.some(({ name }) => name === 'dryRun') ? '?dryRun=All' : '';
      const request = [method.toUpperCase(), `${path.replaceAll(/\{\w+\}/g, 'made-up')}${dryRun}`, {}] as const;
      if (operationId === ending[0]) expect((await ask(service, cookieOf(browser), ['GET', '/auth/v1/me'])).status).to.equal(200);
      for (const credential of [{ authorization: `Bearer ${token}` }, cookieOf(browser)])
        expect(reasonIn(await ask(service, credential, request)), operationId).not.to.be.oneOf(reasons);
    }
  });
});

const reasons = ['AccessTokenNotAllowed', 'StepUpNotPossible', 'StepUpRequired'];

const failure = z.object({ details: z.object({ causes: z.array(z.object({ reason: z.string() })) }) });
const reasonIn = ({ body }: { body: unknown }) => failure.safeParse(body).data?.details.causes[0]?.reason;

async function ask(service: EmbeddedLogin, credential: Record<string, string>, [method, path, body]: Guarded['request']) {
  const hasBody = body !== undefined && method !== 'GET' && method !== 'OPTIONS';
  const response = await service.request(path, {
    method,
    redirect: 'manual',
    headers: { ...credential, ...(hasBody && { 'content-type': method === 'PATCH' ? mergePatch : 'application/json' }) },
    ...(hasBody && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? (JSON.parse(text) as unknown) : text };
}

const cookieOf = ({ cookies }: Pick<Browser, 'cookies'>) => ({
  cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
  'sec-fetch-site': 'same-origin',
});
