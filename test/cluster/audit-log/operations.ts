import { recordName } from '../../../src/users/record/account.ts';

export interface OperationRequest {
  /** Operation ID. */
  id: string;
  method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  path: string;
  body?: unknown;
}

export interface CallerRequest extends OperationRequest {
  /** Calls to the API server in the caller's name, beside the review of the caller's identity. */
  asks: readonly string[];
  /** True if the operation makes the same call for several objects. */
  isRepeated?: true;
  /** Expected statuses. Default: 200 and 201. */
  codes?: readonly number[];
  /** True if the request is passed on to the API server unchanged, and authorized there. */
  isPassed?: true;
}

/** E-mail address of an existing user. */
export const someEmail = 'some@example.com';
const someUser = recordName(someEmail);
/** Name of an existing session. */
export const someSession = `s-${'0'.repeat(64)}`;

const mayThey = 'create selfsubjectaccessreviews';
const review = { spec: { resourceAttributes: { verb: 'list', resource: 'pods' } } };
const rulesReview = { kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } };

/** Operations that authenticate the caller. Answers from the service's caches require the caller's permission to read the objects. */
export const callerRequests: readonly CallerRequest[] = [
  { id: 'ListUsers', path: '/auth/v2/users', asks: [mayThey] },
  { id: 'ListUsersV1', path: '/auth/v1/users', asks: [mayThey] },
  { id: 'GetUser', path: `/auth/v1/users/${someUser}`, asks: [mayThey] },
  { id: 'ListUsersNative', path: '/apis/auth.platform.io/v1/users', asks: ['list users'] },
  { id: 'GetUserNative', path: `/apis/auth.platform.io/v1/users/${someUser}`, asks: ['get users'] },
  { id: 'CreateSelfSubjectAccessReview', method: 'POST', path: '/auth/v1/selfsubjectaccessreviews', body: review, asks: [mayThey] },
  {
    id: 'CreateSelfSubjectAccessReviewNative',
    method: 'POST',
    path: '/apis/authorization.orchestrator.io/v1/selfsubjectaccessreviews',
    body: review,
    asks: [mayThey],
  },
  {
    id: 'CreateSelfSubjectRulesReview',
    method: 'POST',
    path: '/auth/v1/selfsubjectrulesreviews',
    body: rulesReview,
    asks: ['create selfsubjectrulesreviews'],
  },
  { id: 'ListNamespaces', path: '/auth/v1/namespaces?verb=list&resource=pods', asks: [mayThey], isRepeated: true },
  { id: 'ListAccessSubjects', path: '/auth/v1/accesssubjects?verb=list&resource=pods', asks: [mayThey], isRepeated: true },
  { id: 'ListAccessRules', path: '/auth/v1/accessrules?group=dev', asks: [mayThey], isRepeated: true },
  // The callers may list bindings, and no audits.
  { id: 'ListStandingAccess', path: '/auth/v1/standingaccess', asks: [mayThey], isRepeated: true, codes: [403] },
  {
    id: 'CreateSubjectAccessReview',
    method: 'POST',
    path: '/auth/v1/subjectaccessreviews',
    body: { spec: { user: someEmail, ...review.spec } },
    asks: ['create subjectaccessreviews'],
  },
  {
    id: 'CreateSimulation',
    method: 'POST',
    path: '/auth/v1/simulations',
    body: { changes: [{ type: 'delete', kind: 'ClusterRole', name: 'gone' }] },
    asks: [mayThey, 'delete clusterroles'],
    isRepeated: true,
  },
  { id: 'ListOfferedResources', path: '/api/v2/resources', asks: [] },
  { id: 'ListResources', path: '/api/v2/resources/rbac.authorization.k8s.io/v1/roles', asks: [mayThey], isRepeated: true },
  {
    id: 'ListNamespacedResources',
    path: '/api/v2/resources/rbac.authorization.k8s.io/v1/roles/namespaces/default',
    asks: [mayThey],
  },
  // The installation keeps no events.
  { id: 'ListAuditEvents', path: '/auth/v1/audit', asks: [], codes: [404] },
  { id: 'CountAuditEvents', path: '/auth/v1/audit/counts?by=hour', asks: [], codes: [404] },
  { id: 'ExportAuditEvents', path: '/auth/v1/audit/export', asks: [], codes: [404] },
  { id: 'GetAuditStatus', path: '/auth/v1/audit/status', asks: [], codes: [404] },
  { id: 'GetAuditEvent', path: '/auth/v1/audit/an-event', asks: [], codes: [404] },
  { id: 'ListAuditCheckpoints', path: '/auth/v1/audit/checkpoints', asks: [], codes: [404] },
  { id: 'ReadAuditChain', path: '/auth/v1/audit/chain', asks: [], codes: [404] },
  { id: 'ListRecordings', path: '/auth/v1/audit/recordings', asks: [], codes: [404] },
  { id: 'GetRecording', path: '/auth/v1/audit/recordings/a-recording', asks: [], codes: [404] },
  { id: 'DeleteRecording', method: 'DELETE', path: '/auth/v1/audit/recordings/a-recording', asks: [], codes: [404] },
  // The callers may not read metrics: their review is asked in their name.
  { id: 'GetClusterUsage', path: '/api/v2/usage/nodes', asks: [mayThey], isRepeated: true, codes: [403] },
  { id: 'GetNodeUsage', path: '/api/v2/usage/nodes/a-node', asks: [mayThey], isRepeated: true, codes: [403] },
  { id: 'GetNamespaceUsage', path: '/api/v2/usage/namespaces/default', asks: [mayThey], isRepeated: true, codes: [403] },
  { id: 'GetObjectUsage', path: '/api/v2/usage/namespaces/default/pods/a-pod', asks: [mayThey], isRepeated: true, codes: [403] },
  { id: 'Search', path: '/api/v2/search?q=jane', asks: [mayThey], isRepeated: true },
  {
    id: 'CreateUser',
    method: 'POST',
    path: '/auth/v1/users?dryRun=All',
    body: { spec: { email: 'new@example.com', password: 'correct horse battery' } },
    asks: [mayThey, 'create users'],
  },
  {
    id: 'PatchUser',
    method: 'PATCH',
    path: `/auth/v1/users/${someUser}`,
    body: { spec: { mobile: '110' } },
    asks: [mayThey, 'patch users'],
  },
  { id: 'DeleteUser', method: 'DELETE', path: `/auth/v1/users/${someUser}?dryRun=All`, asks: [mayThey, 'delete users'], codes: [204] },
  {
    id: 'DeleteUsers',
    method: 'DELETE',
    path: '/auth/v1/users?dryRun=All',
    body: { names: [someUser] },
    asks: [mayThey, 'delete users'],
  },
  {
    id: 'DeleteUserSubjects',
    method: 'DELETE',
    path: `/auth/v1/users/${someUser}/subjects`,
    asks: [mayThey],
    isRepeated: true,
    codes: [404],
  },
  { id: 'SyncUsers', method: 'PUT', path: '/auth/v1/users/sync', body: {}, asks: [mayThey] },
  { id: 'GetUsersSync', path: '/auth/v1/users/sync', asks: [mayThey], codes: [200, 404] },
  { id: 'GetMe', path: '/auth/v1/me', asks: [], codes: [200, 404] },
  // The answer is 400 without a login, or if the API server would not accept its tokens.
  { id: 'GetKubeconfig', path: '/auth/v1/kubeconfig', asks: [], codes: [200, 400] },
  { id: 'ListUsersRoles', path: `/auth/v1/usersroles?name=${someUser}`, asks: [mayThey] },
  // A service account gets no certificate, because its name is reserved by Kubernetes.
  { id: 'Authorize', method: 'POST', path: '/auth/v1/authorize', body: {}, asks: [mayThey], codes: [201, 403] },
  // Callers without a user record are refused.
  {
    id: 'CreateAccessToken',
    method: 'POST',
    path: '/auth/v1/accesstoken?dryRun=All',
    body: { description: 'ci' },
    asks: [],
    codes: [201, 403],
  },
  { id: 'ListAccessTokens', path: '/auth/v1/accesstokens', asks: [mayThey] },
  { id: 'DeleteAccessToken', method: 'DELETE', path: '/auth/v1/accesstokens/missing', asks: [mayThey], codes: [404] },
  { id: 'CreateTokenReview', method: 'POST', path: '/auth/v1/tokenreviews', body: { spec: { token: 'x' } }, asks: [mayThey] },
  { id: 'ListGroups', path: '/auth/v1/groups', asks: [mayThey] },
  { id: 'ListMemberships', path: '/auth/v1/memberships?names=dev', asks: [mayThey] },
  { id: 'GetGroup', path: '/auth/v1/groups/dev', asks: [mayThey] },
  {
    id: 'CreateGroup',
    method: 'POST',
    path: '/auth/v1/groups?dryRun=All',
    body: { metadata: { name: 'new' } },
    asks: [mayThey, 'create groups'],
  },
  {
    id: 'PatchGroup',
    method: 'PATCH',
    path: '/auth/v1/groups/dev?dryRun=All',
    body: { spec: { displayName: 'Dev' } },
    asks: [mayThey, 'patch groups'],
  },
  { id: 'DeleteGroup', method: 'DELETE', path: '/auth/v1/groups/dev?dryRun=All', asks: [mayThey, 'delete groups'], codes: [204] },
  {
    id: 'AddGroupMembers',
    method: 'POST',
    path: '/auth/v1/groups/empty/members?dryRun=All',
    body: { names: [someUser] },
    asks: [mayThey, mayThey, 'patch groups'],
  },
  {
    id: 'RemoveGroupMembers',
    method: 'DELETE',
    path: '/auth/v1/groups/dev/members?dryRun=All',
    body: { names: [someUser] },
    asks: [mayThey, mayThey, 'patch groups'],
  },
  { id: 'ListUserBindings', path: '/auth/v2/userbindings', asks: [mayThey] },
  { id: 'ListBindableRoles', path: '/auth/v2/bindableroles', asks: [mayThey] },
  { id: 'GetUserBinding', path: '/auth/v2/userbindings/some', asks: [mayThey] },
  {
    id: 'CreateUserBinding',
    method: 'POST',
    path: '/auth/v2/userbindings?dryRun=All',
    body: { metadata: { name: 'new' }, spec: { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'platform' } },
    asks: [mayThey, mayThey, 'create userbindings'],
  },
  {
    id: 'DeleteUserBinding',
    method: 'DELETE',
    path: '/auth/v2/userbindings/some?dryRun=All',
    asks: [mayThey, 'delete userbindings'],
    codes: [204],
  },
  {
    id: 'DeleteUserBindings',
    method: 'DELETE',
    path: '/auth/v2/userbindings?dryRun=All',
    body: { names: ['some'] },
    asks: [mayThey, 'delete userbindings'],
  },
  { id: 'ListSessions', path: `/auth/v1/sessions?user=${someUser}`, asks: [mayThey] },
  { id: 'DeleteSessions', method: 'DELETE', path: '/auth/v1/sessions?user=missing', asks: [mayThey], codes: [404] },
  {
    id: 'DeleteSession',
    method: 'DELETE',
    path: `/auth/v1/sessions/${someSession}?dryRun=All`,
    asks: [mayThey, 'delete sessions'],
    codes: [204],
  },
  { id: 'HandleConfigMapImage', path: '/api/v1/cm/private/logo.svg', asks: ['get configmaps'] },
  { id: 'HandleConsolePlugins', path: '/api/v1/console-plugins', asks: [mayThey] },
  { id: 'GetPluginAsset', path: '/plugins/cost/plugin-manifest.json', asks: [mayThey] },
  // The proxy to plugins does not ask the API server for the Service.
  ...(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const).map((method) => ({
    id: `${method.charAt(0)}${method.slice(1).toLowerCase()}ThroughPlugin`,
    ...(method !== 'GET' && { method }),
    path: '/api/proxy/plugin/cost/absent/',
    asks: [],
    codes: [404],
  })),
  { id: 'HandleEnvVars', path: '/api/v1/envs', asks: [mayThey] },
  { id: 'HandleModules', path: '/api/v1/modules', asks: [mayThey] },
  { id: 'HandleInfo', path: '/api/v1/token/info', asks: [] },
  { id: 'HandleInfoV2', path: '/api/v2/token/info', asks: [] },
  { id: 'Metrics', path: '/metrics', asks: [mayThey] },
  ...passed('Get', '', ['list namespaces']),
  ...passed('Post', '', ['create namespaces'], { metadata: { name: 'passed' } }),
  ...passed('Put', '/passed', ['update namespaces'], { metadata: { name: 'passed' } }),
  ...passed('Patch', '/passed', ['patch namespaces'], {}),
  ...passed('Delete', '/passed', ['delete namespaces']),
  ...passed('Options', '', [' namespaces']),
];

/** Requests below `/api/kubernetes`. The API server refuses them, and logs the caller's name. */
function passed(
  verb: 'Get' | 'Post' | 'Put' | 'Patch' | 'Delete' | 'Options',
  below: string,
  asks: string[],
  body?: unknown,
): CallerRequest[] {
  const method = verb === 'Get' ? undefined : (verb.toUpperCase() as 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS');
  const path = `/api/kubernetes/api/v1/namespaces${below}`;
  return [
    {
      id: `${verb}Kubernetes`,
      ...(method && { method }),
      path,
      asks,
      codes: [200, 403],
      isPassed: true,
      ...(body !== undefined && { body }),
    },
  ];
}

/** Requests without a credential to the operations that answer all clients. */
export const anonymousRequests: readonly OperationRequest[] = [
  { id: 'OpenApi', path: '/openapi/v3' },
  { id: 'Livez', path: '/livez' },
  { id: 'Healthz', path: '/healthz' },
  { id: 'Readyz', path: '/readyz' },
  { id: 'Version', path: '/version' },
  { id: 'ListGroupVersions', path: '/apis' },
  { id: 'GetUserGroup', path: '/apis/auth.platform.io' },
  { id: 'GetUserGroupResources', path: '/apis/auth.platform.io/v1' },
  { id: 'GetReviewGroup', path: '/apis/authorization.orchestrator.io' },
  { id: 'GetReviewGroupResources', path: '/apis/authorization.orchestrator.io/v1' },
  { id: 'Docs', path: '/docs' },
  { id: 'DocsDirectory', path: '/docs/' },
  { id: 'DocsFile', path: '/docs/page.js' },
  { id: 'GetPasswordKey', path: '/auth/v1/pubkey' },
  { id: 'HandleConfigMapImage', path: '/api/v1/cm/public/logo.svg' },
  { id: 'HandleConsolePlugins', path: '/api/v1/console-plugins' },
  { id: 'HandleEnvVars', path: '/api/v1/envs' },
  { id: 'HandleModules', path: '/api/v1/modules' },
  { id: 'HandleLanguages', path: '/api/v1/i18n/languages' },
  { id: 'HandleStaticFiles', path: '/index.html' },
  { id: 'ListLoginIssuers', path: '/api/v2/token/issuers' },
  { id: 'HandleLogin', path: '/api/v1/token/login' },
  { id: 'HandleLoginV2', path: '/api/v2/token/login' },
  { id: 'HandleRedirect', path: '/api/v2/token/redirect' },
];

/** The operations of `log-in.test.ts`. */
export const logInOperations: readonly string[] = [
  'HandleCallback',
  'HandleCallbackV2',
  'HandleRefresh',
  'HandleRefreshV2',
  'PostRefresh',
  'PostRefreshV2',
  'HandleLogoutV2',
  'PostLogoutV2',
  'BackchannelLogout',
  'ExchangeToken',
];

/** Operations that need the embedded issuer. `test/service/{factors,links,login}` test their permissions. */
export const factorOperations: readonly string[] = [
  ...['ListUserFactors', 'PatchUserFactor', 'DeleteUserFactor', 'DeleteUserFactors'],
  ...['CreateUserLink', 'DeleteUserLinks'],
  ...['ListLinkedAccounts', 'LinkAccount', 'UnlinkAccount'],
];

/** Headers that name the caller to some proxies and API servers. They must not change the caller here. */
export const hostileHeaders = {
  'X-Remote-User': 'intruder',
  'X-Remote-Group': 'intruder',
  'X-Remote-Extra-Scopes': 'intruder',
  X_Remote_User: 'intruder',
  'X-Forwarded-User': 'intruder',
  'X-Console-Impersonate-User': 'intruder',
  'X-Console-Impersonate-Groups': 'intruder',
  'User-Agent': 'intruder',
  'Audit-ID': 'intruder',
};

/** The same headers for requests that are passed on: the user agent is used to search the log. */
export const hostilePassedHeaders = { ...hostileHeaders, 'User-Agent': 'atrium' };
