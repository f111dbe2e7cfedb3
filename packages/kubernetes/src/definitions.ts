/** Proof that the API server does not serve a resource. Its 404 for an unknown path is plain text, which a proxy may send as well. */
import { serviceUnavailable } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { definitionMissing, type ServiceClient } from './own-account.ts';
import { groupsPath, type ResourceType } from './resource.ts';
import { answerOf, isUnknownResource } from './upstream-error.ts';

const groupList = z.object({
  kind: z.literal('APIGroupList'),
  groups: z.array(z.object({ name: z.string(), versions: z.array(z.object({ version: z.string() })) })),
});
const resourceList = z.object({
  kind: z.literal('APIResourceList'),
  groupVersion: z.string(),
  resources: z.array(z.object({ name: z.string() })),
});

interface Discovering {
  client: ServiceClient;
  signal: AbortSignal;
}

/**
 * Sends a call for a resource that may not be installed.
 *
 * @throws StatusError 503 that satisfies `isNotInstalled` if the API server states it or its discovery proves it; other errors of the call
 */
export async function whileInstalled<T>(discovering: Discovering, type: ResourceType, send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    const answer = answerOf(error);
    if (isUnknownResource(error)) throw definitionMissing(type, error);
    if (answer?.isUnknownPathText && !(await isServed(discovering, type))) throw definitionMissing(type, answer);
    throw error;
  }
}

/** @throws StatusError 503 if discovery is no proof */
async function isServed({ client, signal }: Discovering, { group, version, resource }: ResourceType): Promise<boolean> {
  const read = async <T>(path: string, schema: z.ZodType<T>): Promise<T> => {
    const { data, error } = schema.safeParse(await client.request({ call: 'discover resources', method: 'GET', path, signal }));
    if (data === undefined) throw serviceUnavailable('kubernetes', { cause: error });
    return data;
  };
  if (group !== '') {
    const { groups } = await read(groupsPath, groupList);
    if (!groups.some(({ name, versions }) => name === group && versions.some((served) => served.version === version))) return false;
  }
  const groupVersion = group === '' ? version : `${group}/${version}`;
  const list = await read(group === '' ? `/api/${version}` : `/apis/${groupVersion}`, resourceList);
  return list.groupVersion !== groupVersion || list.resources.some(({ name }) => name === resource);
}
