/** Creates, changes and deletes Groups with the caller's rights; members.ts changes their members. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { duplicate, type FieldError, forbidden as forbiddenField, notFoundValue } from '../api/field-error.ts';
import { checkTests, mergePatchOf } from '../api/json-patch.ts';
import { partsOf, reader } from '../api/reader.ts';
import { badRequest, conflict, invalid, notFound } from '../api/status.ts';
import { readObject } from '../api/validation.ts';
import { isVersionAsked, requiresVersion, type WriteRequest } from '../api/write-options.ts';
import type { Collection } from '../collection/collection.ts';
import type { Caller } from '../http/operation.ts';
import { requireNoAccessToken, requireRecentLogin } from '../http/sensitive-writes.ts';
import { timestamp } from '../kubernetes/clock.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { CallerResource, ServiceResource } from '../kubernetes/resource-client.ts';
import { retryOnConflict } from '../kubernetes/retry.ts';
import { isRefusal } from '../kubernetes/upstream-error.ts';
import type { Services } from '../services.ts';
import { groupApiVersion, groupResource, localGroupName } from '../users/record/local-groups.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { type GroupRow, servedGroup } from './row.ts';
import { type GroupPatch, groupKind, groupPatchBody, type NewGroup, newGroupBody } from './schema.ts';

/** Dependencies of the operations on Groups. */
export interface GroupsContext {
  readonly services: Services;
  readonly groups: Collection<GroupRow>;
  readonly accounts: AccountLookup;
}

/** @throws StatusError 403, 503 */
export const requireGroupRight = (
  { services }: GroupsContext,
  caller: Caller,
  verb: string,
  name: string | undefined,
  signal: AbortSignal,
) => services.access.require(caller, { ...groupResource, verb, ...(name !== undefined && { name }) }, signal);

/**
 * Requires the right to impersonate the group, because members get what is granted to it. The chart's admission policy, where installed,
 * requires the same.
 *
 * @throws StatusError 403, 503
 */
export const requireMembersRight = ({ services }: GroupsContext, caller: Caller, name: string, signal: AbortSignal) =>
  services.access.require(caller, { group: '', resource: 'groups', verb: 'impersonate', name: localGroupName(name) }, signal);

interface PatchRequest extends WriteRequest {
  name: string;
  isJsonPatch: boolean;
  /** Value of the header; undefined without one. */
  ifMatch: string | undefined;
}

interface DeleteRequest {
  name: string;
  preconditions: { uid?: string | undefined; resourceVersion?: string | undefined };
  isDryRun: boolean;
}

export interface Written {
  group: KubernetesObject;
  warnings: readonly string[];
  /** True if something was written. */
  isChanged: boolean;
}

const kind = { group: groupResource.group, kind: 'Group' };

const named = z.object({ name: z.string() });
const readNamed = reader(named);
const readBody = reader(z.object({ metadata: named }));

/** @throws StatusError 400, 401, 403, 409, 422, 503, 504 */
export async function createGroup(
  context: GroupsContext,
  { body, isDryRun, fieldValidation }: WriteRequest,
  caller: Caller,
  signal: AbortSignal,
): Promise<Written> {
  const { services, groups } = context;
  await requireGroupRight(context, caller, 'create', undefined, signal);
  const { name = '' } = readBody(body).metadata ?? {};
  const { object, warnings } = readObject(newGroupBody, body, { ...kind, name, fieldValidation, alsoWrong: memberErrors(body) });
  await requireMembers(context, object, caller, signal);
  const manifest = manifestOf(object, services.now());
  const group = await new CallerResource(services.apiServer.asCaller(caller), groupKind).create(manifest, { isDryRun, signal });
  if (!isDryRun) await groups.cache.waitForWrite(group.metadata.resourceVersion, signal);
  return { group, warnings, isChanged: !isDryRun };
}

/** @throws StatusError 400, 403, 404, 409, 422, 503, 504 */
export async function patchGroup(context: GroupsContext, request: PatchRequest, caller: Caller, signal: AbortSignal): Promise<Written> {
  const { groups } = context;
  await requireGroupRight(context, caller, 'patch', request.name, signal);
  const written = await retryOnConflict(() => attemptPatch(context, request, caller, signal), signal);
  if (written === undefined) throw modified(request.name);
  if (written.isChanged) await groups.cache.waitForWrite(written.group.metadata.resourceVersion, signal);
  return written;
}

/** Returns undefined after a conflict with the controller or another writer, as the caller's tests may still hold. */
async function attemptPatch(
  { services }: GroupsContext,
  request: PatchRequest,
  caller: Caller,
  signal: AbortSignal,
): Promise<Written | undefined> {
  const { name, ifMatch, isDryRun, fieldValidation } = request;
  const { patch, tests } = request.isJsonPatch ? mergePatchOf(request.body, kind) : { patch: request.body, tests: [] };
  const found = await new ServiceResource(services.apiServer.asService, groupKind).get(name, signal);
  if (found === undefined) throw notFound(groupResource, name);
  const { object, warnings } = readObject(groupPatchBody, patch, { ...kind, name, fieldValidation });
  if (object.metadata?.name !== undefined && object.metadata.name !== name)
    throw badRequest(`metadata.name: must be ${name}, as in the path`);
  if (!isVersionAsked(found.metadata, object.metadata, ifMatch)) throw modified(name);
  checkTests(servedGroup(found), tests, { ...kind, name });
  const changes = changesOf(found, object);
  if (changes === undefined) return { group: found, warnings, isChanged: false };
  const { uid, resourceVersion } = found.metadata;
  const isAskedFor = requiresVersion(object.metadata, ifMatch);
  const isOfVersion = isAskedFor || tests.length > 0;
  const change = { ...changes, metadata: { ...changes.metadata, uid, ...(isOfVersion && { resourceVersion }) } };
  try {
    const group = await new CallerResource(services.apiServer.asCaller(caller), groupKind).patch(name, change, { isDryRun, signal });
    return { group, warnings, isChanged: !isDryRun };
  } catch (error) {
    if (isOfVersion && !isAskedFor && isRefusal(error, 409)) return undefined;
    throw error;
  }
}

/** @returns the uid of the deleted group; @throws StatusError 403, 404, 409, 503, 504 */
export async function deleteGroup(
  context: GroupsContext,
  { name, preconditions, isDryRun }: DeleteRequest,
  caller: Caller,
  signal: AbortSignal,
): Promise<string> {
  const { services, groups } = context;
  await requireGroupRight(context, caller, 'delete', name, signal);
  const uid = await new CallerResource(services.apiServer.asCaller(caller), groupKind).delete(name, { preconditions, isDryRun, signal });
  // Otherwise the next list of this replica would still show the group.
  if (!isDryRun) await groups.cache.waitForWrite(() => groups.cache.get(name)?.uid !== uid, signal);
  return uid;
}

/** Requires the same for a new group with members as for a change of its members. */
async function requireMembers(context: GroupsContext, { metadata, spec }: NewGroup, caller: Caller, signal: AbortSignal): Promise<void> {
  const { accounts, services } = context;
  const { users = [] } = spec;
  if (users.length === 0) return;
  requireNoAccessToken('members', caller);
  await requireMembersRight(context, caller, metadata.name, signal);
  requireRecentLogin('members', caller, services.config.login.stepUp, services.now());
  requireAccounts(accounts);
  const unknown = users.flatMap(({ name }, index) =>
    accounts.get(name) === undefined ? [notFoundValue(`spec.users[${index}].name`, name)] : [],
  );
  if (unknown.length > 0) throw invalid({ ...kind, name: metadata.name }, unknown);
}

const modified = (name: string) =>
  conflict(groupResource, name, 'the object has been modified; please apply your changes to the latest version and try again');

/** Checks the rules that span several members. */
function memberErrors(body: unknown): FieldError[] {
  const { spec = {} } = partsOf(body);
  const users: readonly unknown[] = Array.isArray(spec.users) ? spec.users : [];
  if (users.length > 0 && spec.refConnector !== undefined)
    return [forbiddenField('spec.users', 'the members of a group that comes from an issuer are known by the issuer')];
  const seen = new Set<string>();
  return users.flatMap((user, index) => {
    const { name } = readNamed(user);
    if (name === undefined) return [];
    if (seen.has(name)) return [duplicate(`spec.users[${index}].name`, name)];
    seen.add(name);
    return [];
  });
}

function manifestOf({ metadata, spec }: NewGroup, now: Date) {
  const { users, ...rest } = spec;
  const { name, labels, annotations } = metadata;
  return {
    apiVersion: groupApiVersion,
    kind: 'Group',
    metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: { ...rest, ...(users && { users: users.map((user) => ({ importTime: timestamp(now), ...user })) }) },
  };
}

/** Returns the changes of the patch that differ from the object; undefined if there are none. */
function changesOf(object: KubernetesObject, patch: GroupPatch) {
  const { metadata } = object;
  const { labels, annotations } = patch.metadata ?? {};
  const changed = {
    spec: differences(patch.spec, partsOf(object).spec ?? {}),
    labels: differences(labels, metadata.labels ?? {}),
    annotations: differences(annotations, metadata.annotations ?? {}),
  };
  if (Object.values(changed).every((change) => change === undefined)) return undefined;
  return {
    ...(changed.spec && { spec: changed.spec }),
    metadata: { ...(changed.labels && { labels: changed.labels }), ...(changed.annotations && { annotations: changed.annotations }) },
  };
}

function differences(wanted: Record<string, unknown> = {}, old: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const changes = Object.entries(wanted).filter(([key, value]) => !isDeepStrictEqual(value ?? undefined, old[key]));
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}
