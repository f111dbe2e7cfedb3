/**
 * Writes that make a credential or a right. A thief who makes one with a stolen session or access token keeps it after the session or
 * token has ended. Each kind has one rule, which holds at our own operations and at the same objects below `/api/kubernetes`.
 */
import type { Bearer, Caller } from '@atrium/http/caller.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { requireStepUp, type StepUpPolicy } from './step-up.ts';

/** A value of `login.stepUp.operations`. */
type StepUpOperation = 'passwordReset' | 'bindings' | 'certificates' | 'accessTokens' | 'accessDecisions' | 'viewAsWrites';

interface StepUpSettings extends StepUpPolicy {
  readonly operations: readonly StepUpOperation[];
}

interface Rule {
  /** Completes the sentence "an access token cannot …": no access token is accepted for any of these writes, and no agent. */
  readonly action: string;
  /** A session needs a recent login always, or where the installation lists one of these operations. */
  readonly recentLogin: 'always' | readonly StepUpOperation[];
  /** `group/resource[/subresource]` in the Kubernetes API; `*` stands for all other resources of the group. */
  readonly resources?: readonly string[];
  /** Deletion counts as a write. Other deletions take something away, and must be fast. */
  readonly includesDeletion?: true;
  /** An agent may do it, because other people decide. */
  readonly isOpenToAgents?: true;
}

const rules = {
  // The user gives the old password.
  ownPassword: { action: 'change passwords', recentLogin: [] },
  passwordReset: { action: 'change passwords', recentLogin: ['passwordReset'] },
  newUser: { action: 'make users', recentLogin: ['passwordReset'] },
  federation: { action: 'change the tokens that a machine user trusts', recentLogin: ['passwordReset'] },
  issuerAccounts: { action: 'take the accounts of the issuer from a user', recentLogin: ['passwordReset'] },
  linkedAccounts: { action: 'link or unlink accounts', recentLogin: 'always' },
  factors: { action: 'change second factors', recentLogin: 'always' },
  links: { action: 'make or revoke one-time links', recentLogin: 'always' },
  bindings: {
    action: 'change roles and bindings',
    recentLogin: ['bindings'],
    resources: [
      'auth.platform.io/userbindings',
      'auth.platform.io/accesspolicies',
      'auth.platform.io/bindingreviews',
      'rbac.authorization.k8s.io/roles',
      'rbac.authorization.k8s.io/rolebindings',
      'rbac.authorization.k8s.io/clusterroles',
      'rbac.authorization.k8s.io/clusterrolebindings',
    ],
  },
  members: { action: 'change members of groups', recentLogin: ['bindings'], resources: ['auth.platform.io/groups'] },
  // A policy may require a recent login, too.
  newAccessRequest: { action: 'ask for access', recentLogin: [], isOpenToAgents: true },
  endOfAccess: { action: 'end access', recentLogin: [] },
  viewAsWrites: { action: 'write as another user', recentLogin: ['viewAsWrites'] },
  accessDecisions: { action: 'decide on access', recentLogin: ['accessDecisions'] },
  proposals: { action: 'decide on proposals of agents', recentLogin: [] },
  certificates: {
    action: 'get certificates',
    recentLogin: ['certificates'],
    resources: ['certificates.k8s.io/certificatesigningrequests', 'certificates.k8s.io/podcertificaterequests'],
  },
  accessTokens: { action: 'make access tokens', recentLogin: ['accessTokens'], resources: ['auth.platform.io/accesstokens'] },
  serviceAccountTokens: {
    action: 'make tokens of service accounts',
    recentLogin: ['accessTokens'],
    resources: ['/serviceaccounts/token'],
  },
  ownSecrets: {
    action: 'write Secrets in the namespace of the console',
    recentLogin: ['passwordReset', 'accessTokens'],
    includesDeletion: true,
  },
  // Without its factor, a password is enough. Without its RevokedToken, a stolen token is valid again.
  proofs: {
    action: 'write second factors and revoked tokens',
    recentLogin: ['passwordReset'],
    resources: ['auth.platform.io/factors', 'auth.platform.io/revokedtokens'],
    includesDeletion: true,
  },
  records: { action: 'write records of the console', recentLogin: ['passwordReset'], resources: ['auth.platform.io/*'] },
} as const satisfies Record<string, Rule>;

export type SensitiveWrite = keyof typeof rules;

const ruleOf = (write: SensitiveWrite): Rule => rules[write];

const writesByResource = new Map(
  (Object.keys(rules) as SensitiveWrite[]).flatMap((write) =>
    (ruleOf(write).resources ?? []).map((resource): [string, SensitiveWrite] => [resource, write]),
  ),
);

/** Reports which write a request to the Kubernetes API is, by its method and resource; undefined for any other request. */
export function sensitiveWriteOf(
  method: string,
  { group, resource, subresource }: { group: string; resource: string; subresource: string },
): SensitiveWrite | undefined {
  const found = [`${group}/${resource}/${subresource}`, `${group}/${resource}`, `${group}/*`].find((key) => writesByResource.has(key));
  const write = found === undefined ? undefined : writesByResource.get(found);
  return write !== undefined && isWrite(method, write) ? write : undefined;
}

/** Server-side apply creates by PATCH, and some resources are created by PUT. */
export const isWrite = (method: string, write: SensitiveWrite): boolean =>
  ['POST', 'PUT', 'PATCH'].includes(method) || (method === 'DELETE' && ruleOf(write).includesDeletion === true);

/** Refuses access tokens and agents. @throws StatusError 403, cause `AccessTokenNotAllowed` or `AgentNotAllowed` */
export function requireNoAccessToken(write: SensitiveWrite, { accessToken, agent }: Bearer): void {
  const { action, isOpenToAgents } = ruleOf(write);
  if (agent !== undefined && !isOpenToAgents)
    throw notAllowed('AgentNotAllowed', `an agent cannot ${action}: the user can do it in the console`);
  if (accessToken !== undefined)
    throw notAllowed('AccessTokenNotAllowed', `an access token cannot ${action}: log in, or send a token of the identity provider`);
}

const notAllowed = (reason: string, message: string): StatusError =>
  new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason, message }] } });

/**
 * Requires a recent login where the rule or the installation asks for one. The refusal follows the check of the caller's rights, so that a
 * login is not asked for in vain.
 *
 * @throws StatusError 401, cause `StepUpRequired`; 403, cause `StepUpNotPossible`
 */
export function requireRecentLogin(write: SensitiveWrite, caller: Caller, settings: StepUpSettings, now: Date): void {
  const { recentLogin } = ruleOf(write);
  if (recentLogin === 'always' || recentLogin.some((operation) => settings.operations.includes(operation)))
    requireStepUp(caller, settings, now);
}

/** Requires what the rule of the write says of access tokens, agents and recent logins. @throws StatusError 401, 403 */
export function requireSensitiveWrite(write: SensitiveWrite, caller: Caller, settings: StepUpSettings, now: Date): void {
  requireNoAccessToken(write, caller);
  requireRecentLogin(write, caller, settings, now);
}
