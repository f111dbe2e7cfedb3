import { recordName } from '../../src/accounts/record-name.ts';

export interface OperationRequest {
  /** Its operation id. */
  id: string;
  method?: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
}

export interface CallerRequest extends OperationRequest {
  /** What the API server is asked as the caller, beside who they are. */
  asks: readonly string[];
  /** Default 200 and 201. */
  codes?: readonly number[];
}

/** Of a user that is there. */
export const someEmail = 'some@example.com';
const someUser = recordName(someEmail);

const mayThey = 'create selfsubjectaccessreviews';
const review = { spec: { resourceAttributes: { verb: 'list', resource: 'pods' } } };
const rulesReview = { kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } };

/** The operations that look at who is calling. What they answer of the service's own knowledge, the caller must be allowed to see. */
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
  { id: 'SyncUsers', method: 'PUT', path: '/auth/v1/users/sync', body: {}, asks: [mayThey] },
  { id: 'GetUsersSync', path: '/auth/v1/users/sync', asks: [mayThey], codes: [200, 404] },
  { id: 'GetMe', path: '/auth/v1/me', asks: [], codes: [200, 404] },
  { id: 'ListUsersRoles', path: `/auth/v1/usersroles?name=${someUser}`, asks: [mayThey] },
  // A service account gets no certificate: its name is one of Kubernetes itself.
  { id: 'Authorize', method: 'POST', path: '/auth/v1/authorize', body: {}, asks: [mayThey], codes: [201, 403] },
  { id: 'HandleConfigMapImage', path: '/api/v1/cm/private/logo.svg', asks: [mayThey] },
  { id: 'HandleConsolePlugins', path: '/api/v1/console-plugins', asks: [mayThey] },
  { id: 'HandleEnvVars', path: '/api/v1/envs', asks: [mayThey] },
  { id: 'HandleModules', path: '/api/v1/modules', asks: [mayThey] },
  { id: 'HandleInfo', path: '/api/v1/token/info', asks: [] },
  { id: 'HandleInfoV2', path: '/api/v2/token/info', asks: [] },
  { id: 'Metrics', path: '/metrics', asks: [mayThey] },
];

/** The operations that answer everybody, asked by nobody. */
export const anonymousRequests: readonly OperationRequest[] = [
  { id: 'OpenApi', path: '/openapi/v3' },
  { id: 'Livez', path: '/livez' },
  { id: 'Livez_2', path: '/healthz' },
  { id: 'Readyz', path: '/readyz' },
  { id: 'Version', path: '/version' },
  { id: 'GetPasswordKey', path: '/auth/v1/pubkey' },
  { id: 'HandleConfigMapImage', path: '/api/v1/cm/public/logo.svg' },
  { id: 'HandleConsolePlugins', path: '/api/v1/console-plugins' },
  { id: 'HandleEnvVars', path: '/api/v1/envs' },
  { id: 'HandleModules', path: '/api/v1/modules' },
  { id: 'HandleLanguages', path: '/api/v1/i18n/languages' },
  { id: 'HandleStaticFiles', path: '/index.html' },
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
];

/** By which some proxies and API servers are told who is calling. Whoever sends them here is nobody else by it. */
export const hostileHeaders = {
  'Impersonate-User': 'intruder',
  'Impersonate-Uid': 'intruder',
  'Impersonate-Group': 'intruder',
  'Impersonate-Extra-Scopes': 'intruder',
  'impersonate-extra-intruder': 'intruder',
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
