import type { Schemas } from '../../api/client';

export type AuditEvent = Schemas['AuditEventList']['items'][number];

const ofSubresource = {
  attach: 'attach',
  ephemeralcontainers: 'debug',
  eviction: 'evict',
  exec: 'exec',
  portforward: 'portforward',
  scale: 'scale',
  status: 'status',
  token: 'token',
  approval: 'decide',
} as const;

const ofVerb = {
  create: 'create',
  update: 'change',
  patch: 'change',
  delete: 'delete',
  deletecollection: 'deleteSeveral',
  get: 'read',
  list: 'list',
  watch: 'watch',
} as const;

const bindings = ['rolebindings', 'clusterrolebindings'];
const roles = ['roles', 'clusterroles'];
const changes = ['create', 'update', 'patch'];

export type Action = (typeof ofSubresource)[keyof typeof ofSubresource] | (typeof ofVerb)[keyof typeof ofVerb] | 'bind';

/** Actions that the bodies of writes tell. */
const ofBody = [
  'annotate',
  'approve',
  'cordon',
  'deny',
  'grant',
  'label',
  'pause',
  'restart',
  'resume',
  'scale',
  'suspend',
  'uncordon',
] as const;

const ofService = [
  'AccessDecided.Approved',
  'AccessDecided.Denied',
  'AccessDenied',
  'AccessEnded.Withdrawn',
  'AccessEnded',
  'AccessGranted',
  'AccessRefused',
  'AccessRequested',
  'AccessTokenCreated',
  'AccessTokenDeleted',
  'AgentAllowed',
  'AgentCalledTool',
  'AuditExpired',
  'AuditExported',
  'AuditRead',
  'BindingReviewReminded.NotSent',
  'BindingReviewReminded',
  'BindingReviewed.Ended',
  'BindingReviewed.Kept',
  'BindingReviewed.Shortened',
  'BindingReviewed.Unanswered',
  'BreakGlassReviewed',
  'BreakGlassUsed',
  'CertificateIssued',
  'ChangeProposalRejected',
  'FactorAdded',
  'FactorRemoved',
  'FactorsReset',
  'GroupMembersChanged',
  'LinkMade',
  'LoggedOut',
  'LoginFailed',
  'LoginSucceeded',
  'PasswordChanged',
  'PasswordReset',
  'RecordingDeleted',
  'RecordingExpired',
  'RecordingRead',
  'SessionDeleted',
  'TokenExchangeRefused',
  'TokenExchanged',
  'TokenRefreshed',
  'UserLocked',
  'ViewedAs',
] as const;

/** Actions of the service that are refusals themselves. */
const refusals = ['AccessDenied', 'AccessRefused', 'LoginFailed', 'TokenExchangeRefused'];

/** Actions whose words hold for successes and failures. */
const attempts = ['AgentCalledTool', 'BindingReviewReminded'];

/** Returns the name of an action of the service that has words of its own. */
export function serviceActionOf({ event = '', outcome, reason }: AuditEvent): (typeof ofService)[number] | undefined {
  if (!attempts.includes(event) && (outcome === 'failure') !== refusals.includes(event)) return undefined;
  return ofService.find((name) => name === event || name === `${event}.${reason}`);
}

const has = <Key extends string>(table: Readonly<Record<Key, unknown>>, key: string): key is Key => Object.hasOwn(table, key);

/** Returns what a user did to the object of an event; undefined for what has no words of its own. */
export function actionOf({ verb, objectRef: { resource, subresource = '' } }: AuditEvent): Action | undefined {
  if (subresource !== '') return has(ofSubresource, subresource) ? ofSubresource[subresource] : undefined;
  if (verb === 'create' && bindings.includes(resource)) return 'bind';
  return has(ofVerb, verb) ? ofVerb[verb] : undefined;
}

/** Returns what a write did, where its event tells more than the verb. */
export const toldAction = (event: AuditEvent): (typeof ofBody)[number] | undefined =>
  hadEffect(event) ? ofBody.find((action) => action === event.action) : undefined;

const shells = ['ash', 'bash', 'dash', 'fish', 'ksh', 'sh', 'zsh'];

/** Reports whether a connection is a terminal in which a shell alone was run. */
export function isShell({ connection: { command = [], tty } = {} }: AuditEvent): boolean {
  const [program = '', ...options] = command;
  return (
    tty === true && shells.includes(program.split('/').at(-1) ?? '') && options.every((option) => ['-i', '-l', '--login'].includes(option))
  );
}

/** Returns the standing access that an event has changed: that of a binding, or of a role. A deletion leaves none. */
export function changedAccess(event: AuditEvent): { namespace?: string | undefined; name?: string; role?: string } | undefined {
  const { verb, objectRef } = event;
  const { resource, subresource, namespace, name } = objectRef;
  if (name === undefined || subresource !== undefined || !changes.includes(verb) || !hadEffect(event)) return undefined;
  if (roles.includes(resource)) return { namespace, role: name };
  return [...bindings, 'userbindings'].includes(resource) && event.grant?.until === undefined ? { namespace, name } : undefined;
}

/** Reports whether the request had an effect: refusals, failures and dry runs had none. */
export const hadEffect = ({ outcome, dryRun }: AuditEvent): boolean => outcome === 'success' && dryRun !== true;
