/** Body of a PATCH of a User in any patch format, as one merge patch (RFC 7396). */
import { z } from 'zod';
import { userApiVersion } from './record/resource.ts';
import { account, displayName, expired, kept, keptMembers, mail, mobile, password } from './user-body.ts';

const never = 'cannot be changed';

/** Schema of the merge patch. Null removes a member. */
export const userPatchBody = z
  .strictObject({
    apiVersion: z.literal(userApiVersion).optional(),
    kind: z.literal('User').optional(),
    metadata: z
      .strictObject({
        name: z.string().optional().describe('That of the path, if given.'),
        resourceVersion: z.string().optional().describe('The change is made to this version or not at all.'),
        uid: z.string().optional(),
        labels: kept('labels are kept by the service'),
        annotations: kept(never),
        generateName: kept(never),
        ownerReferences: kept(never),
        finalizers: kept(never),
        namespace: kept(never),
        creationTimestamp: kept(never),
      })
      .optional(),
    spec: z
      .strictObject({
        username: displayName.min(1, 'must not be empty').optional(),
        password: password.optional(),
        old_password: password.optional().describe('The present password, of a user who changes their own.'),
        must_change_password: kept('belongs to the creation of a user: users.passwordPolicy.changeAfterReset decides about a new password'),
        mail: mail.nullable().optional(),
        mobile: mobile.nullable().optional(),
        account: account.nullable().optional(),
        expired: expired.nullable().optional(),
        is_disabled: z.boolean().optional().describe('False also ends a lock, idleness, and a validity that has passed.'),
        ...keptMembers,
        email: kept(never),
        is_admin: kept(never),
        connector_type: kept(never),
        connector_id: kept(never),
        connector_name: kept(never),
        extra: kept(never),
      })
      .optional(),
    status: kept('is kept by the service'),
  })
  .meta({ id: 'UserPatch' });

export type UserPatch = z.output<typeof userPatchBody>;
