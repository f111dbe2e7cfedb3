/** Members of an audit line that only some events have. */
export type AuditField =
  | 'actor'
  | 'target'
  | 'code'
  | 'reason'
  | 'issuer'
  | 'session'
  | 'members'
  | 'access'
  | 'binding'
  | 'grant'
  | 'question'
  | 'agent'
  | 'shell'
  | 'workload'
  | 'write'
  | 'denied';

/** Verb, and a resource of auth.platform.io. */
export type AuditAction = `${string} ${string}`;

/**
 * Rights of the actor of which an event is a use, as verbs and resources of `auth.platform.io`, or as a verb and a path. None for an act
 * that needs no right, such as a login. `write`: that of the member `write`. `review`: those to the member `binding`. `impersonation`: that
 * to act as the target.
 */
export type EventRights = readonly AuditAction[] | 'write' | 'review' | 'impersonation';

type FieldsWithRights =
  | { readonly fields: readonly Exclude<AuditField, 'actor'>[]; readonly rights?: never }
  | { readonly fields: readonly AuditField[]; readonly rights: EventRights };

type DeclaredEvent = FieldsWithRights & {
  /** Occasion on which the event is written, for docs/operations.md. */
  readonly when: string;
  /** Verb, resource and subresource by which the audit store knows it; missing for what the event of a request tells. */
  readonly action?: AuditAction;
  /**
   * Verb, resource and subresource of the one write at the API server that is the effect, where they differ from `action`. The store keeps
   * one event of both.
   */
  readonly write?: AuditAction;
  /** True if the event is also written as an Event of the cluster on the user record that is its target. */
  readonly isEvent?: true;
};

const byCaller = ['actor', 'target', 'code'] as const;
const byUser = ['actor', 'target', 'reason'] as const;

/**
 * The closed set of audit events: the types of `audit.ts`, the Events of the cluster and the table of docs/operations.md derive from it.
 */
export const auditEvents = {
  LoginSucceeded: {
    action: 'create users/sessions',
    when: 'A login at the console succeeds, or one of another client at the embedded issuer.',
    fields: [...byCaller, 'issuer'],
    rights: [],
    isEvent: true,
  },
  LoginFailed: {
    action: 'create users/sessions',
    when: 'A password, passkey or callback is refused. `actor` and `target` are missing if the account is not known.',
    fields: [...byUser, 'code', 'issuer'],
    rights: [],
    isEvent: true,
  },
  TokenRefreshed: {
    action: 'update users/sessions',
    when: 'The tokens of a session or of a client are renewed.',
    fields: ['actor', 'target'],
    rights: [],
    isEvent: true,
  },
  RefreshFailed: { action: 'update users/sessions', when: 'A renewal fails.', fields: [...byUser, 'code'], rights: [], isEvent: true },
  LoggedOut: {
    action: 'delete users/sessions',
    when: 'A user ends their own session, the issuer ends it (`BackChannel`), or a newer login exceeds the limit (`TooManySessions`).',
    fields: [...byUser, 'code'],
    rights: [],
    isEvent: true,
  },
  SessionDeleted: {
    action: 'delete users/sessions',
    when: "A caller ends another user's session.",
    fields: byCaller,
    rights: ['delete sessions'],
    isEvent: true,
  },
  UserCreated: { action: 'create users', when: 'A caller creates a user.', fields: byCaller, rights: ['create users'], isEvent: true },
  UserPatched: { action: 'patch users', when: 'A caller changes a user.', fields: byCaller, rights: ['patch users'], isEvent: true },
  UserDeleted: { action: 'delete users', when: 'A caller deletes a user.', fields: byCaller, rights: ['delete users'], isEvent: true },
  UserSubjectsDeleted: {
    action: 'deletecollection users/subjects',
    when: 'A caller removes all linked accounts of a user.',
    fields: byCaller,
    rights: ['update users/password'],
    isEvent: true,
  },
  UserLocked: { action: 'update users/status', when: 'Failed attempts lock a user.', fields: ['target', 'reason'], isEvent: true },
  UsersSynced: {
    action: 'update users',
    when: 'A synchronisation of directories ends.',
    fields: ['actor', 'reason'],
    rights: ['update users/sync'],
  },
  PasswordChanged: {
    action: 'update users/password',
    when: 'A user changes their own password.',
    fields: byCaller,
    rights: [],
    isEvent: true,
  },
  PasswordReset: {
    action: 'update users/password',
    when: "A caller sets another user's password.",
    fields: byCaller,
    rights: ['update users/password'],
    isEvent: true,
  },
  PasswordCheckFailed: {
    action: 'update users/password',
    when: 'The old password is wrong at a password change.',
    fields: ['target', 'reason'],
    isEvent: true,
  },
  FactorAdded: {
    action: 'create users/factors',
    when: 'A user adds a second factor; `reason` is its type.',
    fields: ['target', 'reason'],
    isEvent: true,
  },
  FactorRemoved: {
    action: 'delete users/factors',
    when: 'A second factor is removed; `reason` is its type.',
    fields: [...byUser, 'code'],
    rights: [],
    isEvent: true,
  },
  FactorFailed: { action: 'create users/sessions', when: 'A second factor is refused.', fields: ['target', 'reason'], isEvent: true },
  FactorSuspected: {
    action: 'update users/factors',
    when: 'A passkey may have been cloned and is disabled.',
    fields: ['target', 'reason'],
    isEvent: true,
  },
  FactorsReset: {
    action: 'deletecollection users/factors',
    when: 'A caller removes all second factors of a user.',
    fields: byCaller,
    rights: ['delete users/factors'],
    isEvent: true,
  },
  RecoveryCodeUsed: { action: 'delete users/factors', when: 'A login uses a recovery code.', fields: ['target'], isEvent: true },
  LinkMade: {
    action: 'create users/links',
    when: 'A caller makes a one-time link; `reason` is its kind.',
    fields: [...byUser, 'code'],
    rights: ['create users/links', 'update users/password'],
    isEvent: true,
  },
  LinkMailed: {
    action: 'update users/links',
    when: 'A one-time link is mailed, or cannot be (`NotSent`).',
    fields: ['target', 'reason'],
    isEvent: true,
  },
  LinkUsed: {
    action: 'update users/links',
    when: 'A one-time link is used; `reason` is its kind.',
    fields: byUser,
    rights: [],
    isEvent: true,
  },
  LinksEnded: {
    action: 'deletecollection users/links',
    write: 'patch users/status',
    when: 'A caller revokes all one-time links of a user.',
    fields: byCaller,
    rights: ['delete users/links', 'update users/password'],
    isEvent: true,
  },
  SubjectLinked: {
    action: 'create users/subjects',
    when: 'A user links an account of another issuer.',
    fields: byCaller,
    rights: [],
    isEvent: true,
  },
  SubjectUnlinked: {
    action: 'delete users/subjects',
    when: 'A user removes a linked account.',
    fields: byCaller,
    rights: [],
    isEvent: true,
  },
  CertificateIssued: {
    action: 'create users/certificates',
    when: 'A client certificate is issued.',
    fields: byCaller,
    rights: ['create users/authorize'],
    isEvent: true,
  },
  AccessTokenCreated: {
    action: 'create users/accesstokens',
    when: 'An access token is created.',
    fields: byCaller,
    rights: [],
    isEvent: true,
  },
  AccessTokenDeleted: {
    action: 'delete users/accesstokens',
    when: 'An access token is deleted.',
    fields: byCaller,
    rights: ['delete accesstokens'],
    isEvent: true,
  },
  TokenExchanged: {
    action: 'create users/accesstokens',
    when: 'A workload gets an access token of a machine user; `workload` is its subject at the issuer.',
    fields: [...byCaller, 'issuer', 'workload'],
    rights: [],
  },
  TokenExchangeRefused: {
    action: 'create users/accesstokens',
    when: 'The token of a workload is refused: at most 10 a minute for each client network, and 600 of all.',
    fields: ['code', 'reason', 'issuer', 'workload'],
  },
  GroupCreated: { action: 'create groups', when: 'A caller creates a group.', fields: byCaller, rights: ['create groups'] },
  GroupPatched: { action: 'patch groups', when: 'A caller changes a group.', fields: byCaller, rights: ['patch groups'] },
  GroupDeleted: { action: 'delete groups', when: 'A caller deletes a group.', fields: byCaller, rights: ['delete groups'] },
  GroupMembersChanged: {
    action: 'update groups/members',
    write: 'patch groups',
    when: 'Members are added to a group or removed from it.',
    fields: [...byCaller, 'members'],
    rights: ['patch groups'],
  },
  UserBindingCreated: {
    action: 'create userbindings',
    when: 'A caller creates a UserBinding.',
    fields: [...byCaller, 'grant'],
    rights: ['create userbindings'],
  },
  UserBindingDeleted: {
    action: 'delete userbindings',
    when: 'A caller deletes a UserBinding.',
    fields: [...byCaller, 'grant'],
    rights: ['delete userbindings'],
  },
  AccessRequested: {
    action: 'create accessrequests',
    when: 'A user asks for a role for a while.',
    fields: [...byCaller, 'access'],
    rights: [],
  },
  AccessDecided: {
    action: 'update accessrequests/approval',
    write: 'patch accessrequests/status',
    when: 'An approver decides on a request (`Approved`, `Denied`).',
    fields: [...byUser, 'code', 'access'],
    rights: [],
  },
  AccessGranted: {
    action: 'update accessrequests/status',
    write: 'patch accessrequests/status',
    when: 'The service creates the UserBinding of an approved request.',
    fields: ['target', 'access'],
  },
  AccessRefused: {
    action: 'update accessrequests',
    when: 'A caller is refused to ask for a role, or to decide on, end or review a request that the caller may see.',
    fields: [...byUser, 'code', 'access'],
    rights: [],
  },
  AccessEnded: {
    action: 'update accessrequests/status',
    write: 'patch accessrequests/status',
    when: 'A request or its access ends. `actor` is missing if the service ends it; `reason` is that of the status.',
    fields: [...byUser, 'code', 'access'],
    rights: ['delete userbindings'],
  },
  BreakGlassUsed: {
    action: 'update accessrequests/status',
    write: 'patch accessrequests/status',
    when: 'A user gets a role without the approvals of the policy. `actor` is missing if the replica stopped in between.',
    fields: ['actor', 'target', 'access'],
    rights: [],
  },
  BreakGlassReviewed: {
    action: 'update accessrequests/review',
    write: 'patch accessrequests/status',
    when: 'An approver reviews break-glass.',
    fields: [...byCaller, 'access'],
    rights: [],
  },
  BindingReviewed: {
    action: 'update bindingreviews/answers',
    write: 'patch bindingreviews/status',
    when: 'An owner keeps (`Kept`), shortens (`Shortened`) or ends (`Ended`) a binding of a review, or the service ends it (`Unanswered`), without `actor`.',
    fields: [...byUser, 'code', 'binding'],
    rights: 'review',
  },
  BindingReviewReminded: {
    action: 'update bindingreviews/status',
    when: 'The service reminds owners of the open bindings of a review, or reaches none (`NotSent`).',
    fields: ['target', 'reason'],
  },
  SimulationRun: {
    action: 'create simulations',
    when: 'A caller simulates changes of roles.',
    fields: ['actor', 'code'],
    rights: ['create simulations'],
  },
  ViewedAs: {
    action: 'impersonate users',
    when: 'A caller views the cluster as another user, who is `target`: each write (`Write`), and a read at most each 5 minutes (`Read`).',
    fields: [...byUser, 'code'],
    rights: 'impersonation',
  },
  ViewAsRefused: {
    action: 'impersonate users',
    when: 'The service denies a caller a request as another user, who is `target`.',
    fields: [...byUser, 'code'],
    rights: [],
  },
  KubernetesSession: {
    when: 'A terminal, attached container or forwarded port begins (`Begin`) or ends (`End`).',
    fields: ['actor', 'reason', 'session'],
    rights: [],
  },
  AgentAllowed: {
    action: 'create users/sessions',
    when: 'A user allows an agent at the embedded issuer to act for the user.',
    fields: ['actor', 'target', 'agent'],
    rights: [],
  },
  AgentCalledTool: {
    action: 'call agents/tools',
    when: 'An agent calls a tool for a user, who is `actor`; `agent` has the program, the tool and the objects.',
    fields: ['actor', 'code', 'reason', 'agent'],
    rights: [],
  },
  AgentChangedObject: {
    action: 'call agents/tools',
    when: 'An agent makes a change that `mcp.direct` has, as the user, who is `actor`. `write` has the change and its object.',
    fields: ['actor', 'code', 'agent', 'write'],
    rights: 'write',
  },
  ChangeProposalConfirmed: {
    action: 'update changeproposals/confirmation',
    when: 'A user confirms a change that an agent proposed, and the service makes it as the user. `write` has the change and its object.',
    fields: ['actor', 'code', 'agent', 'write'],
    rights: 'write',
  },
  ChangeProposalRejected: {
    action: 'update changeproposals/rejection',
    write: 'patch changeproposals/status',
    when: 'A user rejects a change that an agent proposed.',
    fields: [...byCaller, 'agent'],
    rights: [],
  },
  AuditExported: {
    action: 'list audits',
    when: 'A caller reads the audit as a stream.',
    fields: ['actor', 'code', 'question'],
    rights: ['list audits'],
  },
  AuditRead: {
    action: 'list audits',
    when: 'A caller reads audit events of others, or lists their recordings: at most each 5 minutes for the same `question`, whatever its period.',
    fields: ['actor', 'code', 'question'],
    rights: ['list audits', 'list recordings'],
  },
  RecordingRead: {
    action: 'get recordings',
    when: 'A caller reads the recording of a shell, which is `target`. `shell` has its user and pod.',
    fields: [...byCaller, 'shell'],
    rights: ['get recordings'],
  },
  RecordingDeleted: {
    action: 'delete recordings',
    when: 'A caller deletes the recording of a shell, which is `target`. `shell` has its user and pod.',
    fields: [...byCaller, 'shell'],
    rights: ['delete recordings'],
  },
  RecordingExpired: {
    action: 'delete recordings',
    when: 'The audit store removes the recording of a shell, which is `target`, by its `Age` or the `Size` of all.',
    fields: ['target', 'reason'],
  },
  AuditExpired: {
    action: 'delete audits',
    when: 'The audit store removes events by their `Age`, `Number` or `Size`. `target` has their numbers, such as `1-120`.',
    fields: ['target', 'reason'],
  },
  CpuProfileTaken: {
    action: 'create cpuprofiles',
    when: 'A caller records a CPU profile of a replica.',
    fields: ['actor', 'code'],
    rights: ['post /debug/v1/cpuprofile'],
  },
  AccessDenied: {
    when: 'The service itself denies a caller an operation. `denied` is the right that a write lacks.',
    fields: [...byUser, 'code', 'denied'],
    rights: [],
  },
} as const satisfies Record<string, DeclaredEvent>;

export type AuditName = keyof typeof auditEvents;

/** Names of the events that have the fields of a write by a caller. */
export type WriteAuditName = {
  [Name in AuditName]: (typeof byCaller)[number] extends FieldOf<Name> ? Name : never;
}[AuditName];

/** Fields that an event with one of these names may have. */
export type FieldOf<Name extends AuditName> = (typeof auditEvents)[Name]['fields'][number];

const begin = '<!-- audit events: written by npm run docs -->\n';
const end = '<!-- end of audit events -->';

/** Returns docs/operations.md with a new table of the audit events. */
export function withAuditTable(page: string): string {
  const rows = (Object.entries(auditEvents) as [string, DeclaredEvent][]).map(
    ([name, { when, fields, isEvent }]) =>
      `| \`${name}\` | ${when} | ${fields.map((field) => `\`${field}\``).join(', ')} | ${isEvent ? 'yes' : ''} |`,
  );
  const table = ['| `audit` | written when | fields | Event |', '|---|---|---|---|', ...rows].join('\n');
  const [before, rest] = [page.split(begin)[0], page.split(end)[1]];
  if (before === undefined || rest === undefined) throw new Error('docs/operations.md has no place for the audit events');
  return `${before}${begin}\n${table}\n\n${end}${rest}`;
}
