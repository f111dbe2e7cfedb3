import { untilUncontested } from '../accounts/user-records.ts';
import { StatusError, serviceUnavailable } from '../http/status.ts';
import type { ApiCall, ServiceClient } from '../kubernetes/api-server.ts';
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
  for await (const object of all(client, groups, signal)) await leave(client, groups, object, withoutMember(leaving), signal);
  for await (const object of all(client, userBindings, signal)) await leave(client, userBindings, object, withoutSubject(leaving), signal);
}

/** What a spec becomes without somebody; undefined if it does not name them, 'nothing' if nobody would be left whom it is for. */
type Rewrite = (spec: Readonly<Record<string, unknown>>) => Record<string, unknown> | 'nothing' | undefined;

const withoutMember =
  ({ name }: Leaving): Rewrite =>
  ({ users: given }) => {
    const members = Array.isArray(given) ? given : [];
    const users = members.filter((member) => !isRecord(member) || member.name !== name);
    return users.length === members.length ? undefined : { users };
  };

const withoutSubject = ({ name, subjectName }: Leaving): Rewrite => {
  const isTheirs = (subject: unknown) =>
    isRecord(subject) && subject.kind === 'User' && (subject.name === name || (subjectName !== '' && subject.name === subjectName));
  return ({ subjects: given }) => {
    const all = Array.isArray(given) ? given : [];
    const subjects = all.filter((subject) => !isTheirs(subject));
    if (subjects.length === all.length) return undefined;
    return subjects.length === 0 ? 'nothing' : { subjects };
  };
};

/** Again, with what there is then, if somebody else writes at the same time: many who are deleted at once may be in one group. */
async function leave(client: ServiceClient, type: ResourceType, listed: KubernetesObject, rewrite: Rewrite, signal: AbortSignal) {
  let object: KubernetesObject | undefined = listed;
  const isLeft = await untilUncontested(async () => {
    const spec = object && rewrite(isRecord(object.spec) ? object.spec : {});
    if (object === undefined || spec === undefined) return true;
    if (await write(client, type, object.metadata, spec, signal)) return true;
    object = await named(client, type, object.metadata.name, signal);
    return undefined;
  }, signal);
  if (isLeft === undefined) throw serviceUnavailable('kubernetes', { cause: new Error(`${type.resource} are written all the time`) });
}

/** @returns false if it is not that version any more */
async function write(
  client: ServiceClient,
  type: ResourceType,
  { name, uid, resourceVersion }: KubernetesObject['metadata'],
  spec: Record<string, unknown> | 'nothing',
  signal: AbortSignal,
): Promise<boolean> {
  const path = resourcePath(type, { name });
  const preconditions = { uid, resourceVersion };
  const request: ApiCall =
    spec === 'nothing'
      ? {
          method: 'DELETE',
          path,
          body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions },
          call: `delete ${type.resource}`,
          signal,
        }
      : {
          method: 'PATCH',
          path,
          contentType: 'application/merge-patch+json',
          body: { metadata: { resourceVersion }, spec },
          call: `patch ${type.resource}`,
          signal,
        };
  try {
    await client.request(request);
    return true;
  } catch (error) {
    if (error instanceof StatusError && [404, 409].includes(error.status.code)) return false;
    throw error;
  }
}

async function named(client: ServiceClient, type: ResourceType, name: string, signal: AbortSignal): Promise<KubernetesObject | undefined> {
  for await (const object of all(client, type, signal, `metadata.name=${name}`)) return object;
  return undefined;
}

async function* all(client: ServiceClient, type: ResourceType, signal: AbortSignal, fieldSelector = ''): AsyncGenerator<KubernetesObject> {
  let next = '';
  do {
    const query = new URLSearchParams({
      limit: String(pageSize),
      ...(next && { continue: next }),
      ...(fieldSelector && { fieldSelector }),
    });
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
