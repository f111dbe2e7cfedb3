import { StatusError } from '../http/status.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { isKubernetesObject, isRecord, type KubernetesObject, type ResourceType, resourcePath } from '../kubernetes/resource.ts';

const group = 'auth.platform.io';
const version = 'v1';
const groups: ResourceType = { group, version, resource: 'groups' };
const userBindings: ResourceType = { group, version, resource: 'userbindings' };
const pageSize = 500;

/** A user who goes: the record's name, and the name that Kubernetes sees, '' for none. */
interface Leaving {
  name: string;
  subjectName: string;
}

/** Takes a user out of the local groups and user bindings that name him; a binding without subjects goes. @throws StatusError 503, 504 */
export async function removeReferences(client: ServiceClient, leaving: Leaving, signal: AbortSignal): Promise<void> {
  for await (const object of all(client, groups, signal)) await leaveGroup(client, object, leaving, signal);
  for await (const object of all(client, userBindings, signal)) await leaveBinding(client, object, leaving, signal);
}

async function leaveGroup(client: ServiceClient, { metadata, spec }: KubernetesObject, { name }: Leaving, signal: AbortSignal) {
  const members = isRecord(spec) && Array.isArray(spec.users) ? spec.users : [];
  const users = members.filter((member) => !isRecord(member) || member.name !== name);
  if (users.length < members.length) await change(client, groups, metadata, { spec: { users } }, signal);
}

async function leaveBinding(
  client: ServiceClient,
  { metadata, spec }: KubernetesObject,
  { name, subjectName }: Leaving,
  signal: AbortSignal,
) {
  const all = isRecord(spec) && Array.isArray(spec.subjects) ? spec.subjects : [];
  const isTheirs = (subject: unknown) =>
    isRecord(subject) && subject.kind === 'User' && (subject.name === name || (subjectName !== '' && subject.name === subjectName));
  const subjects = all.filter((subject) => !isTheirs(subject));
  if (subjects.length === all.length) return;
  if (subjects.length > 0) return change(client, userBindings, metadata, { spec: { subjects } }, signal);
  const preconditions = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
  const path = resourcePath(userBindings, { name: metadata.name });
  await client.request({ method: 'DELETE', path, body, call: 'delete userbindings', signal });
}

async function change(
  client: ServiceClient,
  type: ResourceType,
  { name, resourceVersion }: KubernetesObject['metadata'],
  patch: object,
  signal: AbortSignal,
) {
  await client.request({
    method: 'PATCH',
    path: resourcePath(type, { name }),
    contentType: 'application/merge-patch+json',
    body: { metadata: { resourceVersion }, ...patch },
    call: `patch ${type.resource}`,
    signal,
  });
}

async function* all(client: ServiceClient, type: ResourceType, signal: AbortSignal): AsyncGenerator<KubernetesObject> {
  let next = '';
  do {
    const query = new URLSearchParams({ limit: String(pageSize), ...(next && { continue: next }) });
    const list = await client
      .request({ method: 'GET', path: resourcePath(type), query, call: `list ${type.resource}`, signal })
      .catch(unlessNotInstalled);
    if (!isRecord(list)) return;
    for (const item of Array.isArray(list.items) ? list.items : []) if (isKubernetesObject(item)) yield item;
    next = isRecord(list.metadata) && typeof list.metadata.continue === 'string' ? list.metadata.continue : '';
  } while (next !== '');
}

function unlessNotInstalled(error: unknown): undefined {
  if (error instanceof StatusError && error.status.code === 404) return undefined;
  throw error;
}
