/** What a PATCH of a User may say, in any of the forms of a patch, as one merge patch (RFC 7396). */
import { z } from 'zod';
import { userApiVersion, userResource } from '../accounts/user-resource.ts';
import { notSupported } from '../http/field-error.ts';
import { badRequest, invalid } from '../http/status.ts';
import { isRecord } from '../kubernetes/resource.ts';
import { account, displayName, expired, kept, keptMembers, mail, mobile, password } from './user-body.ts';

export const jsonPatchType = 'application/json-patch+json';

/** There are no lists in what may be patched, so that these three are one. */
export const patchTypes = [
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/json',
  jsonPatchType,
] as const;

const never = 'cannot be changed';

/** Null takes a member away. */
export const userPatchBody = z.strictObject({
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
      old_password: password.optional().describe('Of whoever changes their own.'),
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
});

const jsonPatch = z
  .array(z.object({ op: z.enum(['add', 'replace', 'test']), path: z.string().regex(/^\//), value: z.unknown() }))
  .describe('RFC 6902');

/** By media type. */
export const describedPatch = Object.fromEntries(patchTypes.map((type) => [type, type === jsonPatchType ? jsonPatch : userPatchBody]));

export type UserPatch = z.output<typeof userPatchBody>;

/** What must be so for the patch to be made. */
export interface PatchTest {
  path: readonly string[];
  value: unknown;
  /** Of the operation. */
  index: number;
}

/**
 * A JSON Patch (RFC 6902) as the merge patch that does the same, and what it wants to be so before.
 *
 * @throws StatusError 400 for what is no JSON Patch, 422 for an operation that is not offered
 */
export function mergePatchOf(body: unknown): { patch: Record<string, unknown>; tests: PatchTest[] } {
  if (!Array.isArray(body)) throw badRequest('a JSON Patch must be an array of operations (RFC 6902)');
  const patch: Record<string, unknown> = {};
  const tests: PatchTest[] = [];
  body.forEach((item: unknown, index) => {
    const op = isRecord(item) ? item.op : undefined;
    if (!isRecord(item) || typeof item.path !== 'string' || typeof op !== 'string')
      throw badRequest(`operation ${index} of the JSON Patch must have op and path`);
    if (!['add', 'replace', 'test'].includes(op))
      throw invalid({ group: userResource.group, kind: 'User', name: '' }, [notSupported(`[${index}].op`, op, ['add', 'replace', 'test'])]);
    if (!('value' in item)) throw badRequest(`operation ${index} of the JSON Patch must have a value`);
    const path = segmentsOf(item.path, index);
    if (op === 'test') tests.push({ path, value: item.value, index });
    else place(patch, path, item.value);
  });
  return { patch, tests };
}

/** RFC 6901. */
function segmentsOf(pointer: string, index: number): string[] {
  const [first, ...segments] = pointer.split('/');
  if (first !== '' || segments.length === 0)
    throw badRequest(`the path of operation ${index} must be a JSON Pointer to a member (RFC 6901)`);
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function place(patch: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let target = patch;
  for (const segment of path.slice(0, -1)) {
    const below = Object.hasOwn(target, segment) ? target[segment] : undefined;
    const next: Record<string, unknown> = isRecord(below) ? below : {};
    Object.defineProperty(target, segment, { value: next, enumerable: true, writable: true, configurable: true });
    target = next;
  }
  Object.defineProperty(target, path.at(-1) ?? '', { value, enumerable: true, writable: true, configurable: true });
}
