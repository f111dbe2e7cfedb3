/** Settings of User records: their sources, their validity, and their passwords. */
import { z } from 'zod';
import { distinguishedName, ldapURL, searchFilter } from './formats.ts';
import { duration, isUnique, path } from './units.ts';

const attribute = (what: string, fallback: string) =>
  z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'must be the name of an LDAP attribute')
    .default(fallback)
    .describe(what);

const ldapConnector = z
  .strictObject({
    id: z
      .string()
      .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be lower-case letters, digits and hyphens')
      .refine((id) => id !== 'local', 'must not be local')
      .describe('`spec.connector_id` of its users.'),
    name: z.string().min(1).max(128).describe('`spec.connector_name` of its users.'),
    url: ldapURL().describe('Address of the directory.'),
    caFile: path().optional().describe('PEM certificate authority of the directory, instead of those of the system.'),
    startTLS: z.boolean().default(false).describe('Connects with plain LDAP, and then switches to TLS (RFC 4513 section 3).'),
    bindDN: z.string().min(1).optional().describe('The entry that searches. Default: an anonymous bind.'),
    bindPasswordFile: path().optional().describe('File with the password of `bindDN`.'),
    baseDN: distinguishedName().describe('Base DN of the entries of users.'),
    filter: searchFilter().default('(objectClass=person)').describe('Which entries are users (RFC 4515).'),
    attributes: z
      .strictObject({
        email: attribute('The login identity.', 'mail'),
        username: attribute('The display name.', 'cn'),
        account: attribute('The login name at the source.', 'uid'),
        mobile: attribute('The mobile number.', 'mobile'),
        id: attribute(
          'Attribute that identifies an entry for ever, and that users cannot edit. Users are found by it, and the address only proposes. Active Directory: objectGUID. After a change of this setting no user is found.',
          'entryUUID',
        ),
      })
      .prefault({}),
    groups: z
      .strictObject({
        baseDN: distinguishedName().describe('Base DN of the entries of groups.'),
        filter: searchFilter().default('(objectClass=groupOfNames)').describe('Which entries are groups (RFC 4515).'),
        name: attribute('The name of a group.', 'cn'),
        member: attribute('Attribute with the DNs of the members of a group.', 'member'),
        nested: z
          .enum(['none', 'walk', 'matchingRule'])
          .default('none')
          .describe(
            'Groups that are members of groups. none: they are not followed, and the synchronisation says so. walk: followed over 10 levels, through groups that groups.baseDN and groups.filter find. matchingRule: the directory follows them, by the rule 1.2.840.113556.1.4.1941 of Active Directory, with one search for each user.',
          ),
        primary: z
          .boolean()
          .default(false)
          .describe(
            'Adds the primary group of Active Directory (primaryGroupID), which does not list its members. Disabled: it is not followed, and the synchronisation says so.',
          ),
      })
      .optional()
      .describe('Groups of users. Default: none.'),
    referrals: z
      .enum(['report', 'ignore'])
      .default('report')
      .describe(
        'Referrals to other servers, which are never followed. report: the synchronisation says so, and then no user becomes invalid and none loses a group, because the other server may have them. ignore: they lead to no users and no groups, as at the root of a domain of Active Directory.',
      ),
  })
  .refine(({ bindDN, bindPasswordFile }) => (bindDN === undefined) === (bindPasswordFile === undefined), {
    path: ['bindPasswordFile'],
    error: 'must be given with bindDN, and only then',
  })
  .refine(({ url, startTLS }) => !startTLS || url.startsWith('ldap:'), {
    path: ['startTLS'],
    error: 'must be false where the url is ldaps',
  });

export const usersSection = z.strictObject({
  autoProvision: z.boolean().default(true).describe('Creates a User at the first login. Disabled: users without a record are refused.'),
  idleDays: z
    .number()
    .int()
    .min(0)
    .default(90)
    .describe('Days without a login after which a user is disabled, except for administrators. 0: never.'),
  lockout: z
    .strictObject({
      failures: z.number().int().min(1).default(5).describe('Wrong passwords after which a user is locked.'),
      window: duration().prefault('24h').describe('Period in which wrong passwords are counted.'),
      duration: duration().prefault('20m').describe('Duration of the lock.'),
    })
    .prefault({}),
  passwordPolicy: z
    .strictObject({
      minLength: z.number().int().min(1).max(128).default(8).describe('Minimum length of a new password.'),
      maxLength: z.number().int().min(1).max(128).default(128).describe('Maximum length of a new password.'),
      classes: z
        .array(z.enum(['letter', 'digit', 'special']))
        .refine(isUnique, 'must not hold one twice')
        .default([])
        .describe('Required classes of characters. None is better (NIST SP 800-63B 3.1.1.2).'),
      changeOnFirstLogin: z
        .boolean()
        .default(false)
        .describe('Requires a new password at the first login of a user who was created by another user.'),
      changeAfterReset: z.boolean().default(true).describe('Requires a new password at the next login after another user has set it.'),
      requireEncrypted: z
        .boolean()
        .default(false)
        .describe('Refuses passwords that are not encrypted with the key of `GET /auth/v1/pubkey`.'),
    })
    .refine(({ minLength, maxLength }) => minLength <= maxLength, { path: ['minLength'], error: 'must not be above maxLength' })
    .prefault({}),
  certificates: z
    .strictObject({
      enabled: z.boolean().default(true).describe('Enables client certificates (`POST /auth/v1/authorize`).'),
      signerName: z
        .string()
        .regex(/^[a-z0-9.-]+\/[a-zA-Z0-9._-]+$/, 'must be a signer name such as example.com/people')
        .default('kubernetes.io/kube-apiserver-client')
        .describe('Signer of the CertificateSigningRequests.'),
      maxSeconds: z
        .number()
        .int()
        .min(600)
        .max(31_536_000)
        .default(86_400)
        .describe('Maximum lifetime of a certificate. A longer request is reduced to it.'),
    })
    .prefault({}),
  accessTokens: z
    .strictObject({
      defaultDays: z.number().int().min(1).max(3650).default(90).describe('Default lifetime of an access token in days.'),
      maxDays: z.number().int().min(1).max(3650).default(365).describe('Maximum lifetime of an access token in days.'),
      unusedDays: z.number().int().min(1).max(3650).default(365).describe('Days without a use after which an access token ends.'),
    })
    .refine(({ defaultDays, maxDays }) => defaultDays <= maxDays, { path: ['defaultDays'], error: 'must not be above maxDays' })
    .prefault({}),
  sync: z
    .strictObject({
      maxInvalidPercent: z
        .number()
        .int()
        .min(0)
        .max(100)
        .default(50)
        .describe("Maximum percentage of a directory's users that a synchronisation may invalidate without `force`."),
      schedule: duration().optional().describe('Interval of automatic synchronisations. Default: none.'),
    })
    .prefault({}),
  ldap: z
    .array(ldapConnector)
    .refine((connectors) => isUnique(connectors.map(({ id }) => id)), 'must not hold an id twice')
    .default([])
    .describe('Directories of users, whose passwords are valid at the embedded issuer.'),
  v1List: z
    .strictObject({
      deprecatedAt: z.iso
        .date('must be a date such as 2027-01-31')
        .default('2026-01-01')
        .describe('Start of the deprecation of `GET /auth/v1/users`.'),
      sunset: z.iso.date('must be a date such as 2027-01-31').optional().describe('Date of the removal of `GET /auth/v1/users`, if known.'),
    })
    .prefault({}),
});
