import { grantableGroups } from '@atrium/kubernetes/impersonation.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import { listSchema } from '@atrium/lists/schema.ts';
import { subdomainPattern } from '@atrium/objects/labels.ts';
import { cleaned, conditions, objectMeta } from '@atrium/objects/object-schemas.ts';
import { type Reading, reader } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import { withoutLocalGroups } from './local-groups.ts';

/** Notices that users see at the next login. */
export const noticeType = z.enum([
  'PasskeyAdded',
  'TOTPAdded',
  'RecoveryCodesAdded',
  'FactorRemoved',
  'FactorsReset',
  'PasskeySuspected',
  'PasswordSetByLink',
  'RecoveryCodeUsed',
  'TOTPSuspended',
  'AccountLinked',
  'AccountUnlinked',
]);

export type NoticeType = z.output<typeof noticeType>;

export interface Notice {
  readonly type: NoticeType;
  /** RFC 3339. */
  readonly time: string;
}

/** Custom resource User, defined in deploy/manifests. */
export const userResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'users' };

export const userKind: ResourceKind = { type: userResource, kind: 'User' };

export const userApiVersion = `${userResource.group}/${userResource.version}`;

/** Name of a record (RFC 1123): one or more DNS labels, at most 253 characters. */
export const userName = z
  .string()
  .max(253)
  .regex(subdomainPattern)
  .describe('Name of the record: the first 32 hex digits of the SHA-256 of the lower-cased e-mail address.');

const jane = {
  apiVersion: userApiVersion,
  kind: 'User',
  metadata: {
    name: '8c87b489ce35cf2e2f39f80e282cb2e8',
    uid: '0b0f4a52-7d41-4d8e-9f1b-3f0f6d2f6c1e',
    resourceVersion: '51702',
    creationTimestamp: '2026-01-12T08:30:00Z',
    labels: { 'auth.platform.io/user.email': '8c87b489ce35cf2e2f39f80e282cb2e8', 'auth.platform.io/user.state': 'active' },
  },
  spec: {
    email: 'jane@example.com',
    username: 'Jane Doe',
    connector_type: 'local',
    connector_id: 'local',
    connector_name: 'Local',
    is_admin: false,
    is_disabled: false,
    state: 'active',
    valid: true,
  },
  status: { phase: 'Normal', subjectName: 'jane@example.com', lastLoginTime: '2026-03-01T11:00:00Z' },
};

const time = z.iso.datetime();

const spec = z
  .object({
    email: z.string().describe('The login identity: an e-mail address or a plain login name.'),
    username: z.string().describe('Display name.'),
    connector_type: z.string().describe('Source of the user: `local`, `ldap`, `oidc`, `machine`, …; empty before the first login.'),
    connector_id: z.string(),
    connector_name: z.string(),
    is_admin: z.boolean().describe('Protects the record. Grants no permission.'),
    account: z.string().optional().describe('Login name at the source.'),
    ids: z
      .array(z.object({ type: z.string(), id: z.string() }))
      .optional()
      .describe('Linked identities.'),
    mail: z.string().optional().describe('E-mail address for notices.'),
    mobile: z.string().optional().describe('Telephone number for notices.'),
    expired: z
      .object({ begin: time.optional(), end: time.optional() })
      .optional()
      .describe('Period in which the user may log in. Default: unlimited.'),
    is_disabled: z.boolean(),
    state: z.enum(['active', 'inactive']).describe('Follows `is_disabled`.'),
    valid: z.boolean().describe('`false` if the source no longer has the user.'),
    federation: z
      .array(
        z.object({
          issuer: z.string(),
          audience: z.string(),
          claims: z.object({}).catchall(z.string()).describe('Texts of claims. `*` stands for one segment; segments end at `/` and `:`.'),
          once: z.boolean().optional(),
        }),
      )
      .optional()
      .describe('Tokens that a machine user acts by, in place of a login.'),
    extra: z.looseObject({}).optional().describe('Fields of third parties.'),
  })
  .meta({ id: 'UserSpec' });

const status = z
  .object({
    phase: z.enum(['Normal', 'Locked', 'Disabled', 'Invalid']).optional(),
    reason: z.string().optional().describe('Reason of a phase other than Normal.'),
    message: z.string().optional(),
    conditions: conditions.optional(),
    observedGeneration: z.int().optional(),
    subjectName: z.string().optional().describe('The user name that Kubernetes sees.'),
    subjects: z
      .array(
        z.object({
          issuer: z.string(),
          sub: z.string(),
          subjectName: z.string().optional().describe('The user name that Kubernetes sees after a login there.'),
          groups: z.array(z.string()).optional().describe('Groups as the issuer names them, without a prefix.'),
          linkedTime: time.optional().describe('Time of linking. Not set for the account that names the user.'),
        }),
      )
      .optional()
      .describe('Accounts of the user at external issuers.'),
    lastLoginTime: time.optional(),
    lastSyncTime: time.optional(),
    activatedTime: time.optional(),
    groups: z.array(z.string()).optional().describe('Groups as the issuer or directory names them, without a prefix.'),
    failedLogins: z.int().optional(),
    failedLoginsSince: time.optional(),
    lockedUntil: time.optional(),
    secondFactorFailures: z.int().optional().describe('Number of wrong second factors since the last complete login.'),
    isTOTPSuspended: z.boolean().optional().describe('Codes of an app are refused until another factor completes a login, or a reset.'),
    factorsDueTime: time.optional().describe('Deadline to set up a required second factor.'),
    passwordChangedTime: time.optional(),
    mustChangePassword: z.boolean().optional(),
    linksNotBefore: time.optional().describe('One-time links that were created earlier are revoked.'),
    lastMailTime: time.optional().describe('Time of the last mail for a forgotten password.'),
    notices: z
      .array(z.object({ type: noticeType, time }))
      .optional()
      .describe('Security notices, shown at the next login.'),
    breakGlass: z.array(time).optional().describe('Times of break-glass requests in the last day.'),
    unfinishedSince: time.optional().describe('Start of an unfinished creation.'),
    sessionsNotBefore: time.optional().describe('Tokens that were issued earlier are revoked.'),
  })
  .meta({ id: 'UserStatus' });

/** User as served, with the members of the custom resource definition. */
export const userSchema = z
  .object({
    apiVersion: z.literal(userApiVersion),
    kind: z.literal('User'),
    metadata: objectMeta,
    spec,
    status: status.optional(),
  })
  .meta({ id: 'User', examples: [jane] });

/** Reads the valid members of a record, whatever was written with kubectl. Conditions are read by `setConditions`. */
export const readUser = reader(z.object({ spec, status: status.omit({ conditions: true }) }));

export type UserSpec = Reading<z.output<typeof spec>>;
export type UserStatus = Reading<z.output<typeof status>>;

export const userListSchema = listSchema(userSchema, { apiVersion: userApiVersion, kind: 'UserList' });

type SourceIDs = NonNullable<UserSpec['ids']>;

/** Limits of the custom resource definition for values from issuers and directories. */
const maxDisplayName = 128;
/** Groups in one record. */
export const maxGroups = 512;
const maxSourceIDs = 16;
const maxSourceType = 63;
export const maxSourceID = 512;

export const displayName = (text: string): string => [...cleaned(text.slice(0, 4 * maxDisplayName))].slice(0, maxDisplayName).join('');

/** Adds an identity to those of a record, and keeps the newest. @returns undefined if no record can have the identity */
export function sourceIDs(ids: SourceIDs = [], { type, id }: { type: string; id: string }): SourceIDs | undefined {
  if (type === '' || type.length > maxSourceType || id === '' || id.length > maxSourceID || !id.isWellFormed()) return undefined;
  const isKnown = ids.some((other) => other.type === type && other.id === id);
  return isKnown ? ids : [...ids, { type, id }].slice(-maxSourceIDs);
}

/**
 * Returns the groups that a record can have: no group reserved by the cluster, no local group, and none that does not fit into a header.
 */
export const recordableGroups = (groups: readonly string[]): string[] => withoutLocalGroups(grantableGroups([...new Set(groups)]));

/** Returns the groups to record, up to the limit. */
export const recordedGroups = (groups: readonly string[]): string[] => recordableGroups(groups).slice(0, maxGroups);
