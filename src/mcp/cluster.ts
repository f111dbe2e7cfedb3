import { resourcePath } from '@atrium/kubernetes/resource.ts';
import { pageAsOutage } from '@atrium/kubernetes/upstream-error.ts';
import type { Members } from '@atrium/objects/members.ts';
import { badParameter, StatusError } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import type { ServedKind } from './kinds.ts';
import type { ToolCall } from './tool.ts';
import { withoutSecrets } from './untrusted.ts';

/** Kinds of the service whose objects hold no credential. Others have seals and digests. */
const openKinds = ['accesspolicies', 'accessrequests', 'bindingreviews', 'groups', 'userbindings', 'users'];

interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** Reads the cluster with the credential of the caller. */
export class ClusterReads {
  readonly #apiServer: Services['apiServer'];

  constructor({ apiServer }: Services) {
    this.#apiServer = apiServer;
  }

  /** Returns an object without values of Secrets. @throws StatusError 400, 403; UpstreamError in the words of the API server; 503, 504 */
  async get({ type, kind, isNamespaced }: ServedKind, { namespace, name }: Required<Place>, call: ToolCall): Promise<Members> {
    call.about({ apiGroup: type.group, resource: type.resource, namespace, name });
    if (isNamespaced && namespace === undefined)
      throw badParameter('namespace', `is required: ${type.resource} are in namespaces`, 'FieldValueRequired');
    if (type.group === 'auth.platform.io' && !openKinds.includes(type.resource)) throw holdsCredentials(type.resource);
    const path = resourcePath(type, { ...(isNamespaced && namespace !== undefined && { namespace }), name: name ?? '' });
    const object = await this.json('get', path, {}, call);
    return withoutSecrets({ kind, ...(object as object) });
  }

  /** Returns the answer to a read. @throws like `get` */
  async json(
    verb: 'get' | 'list',
    path: string,
    query: Readonly<Record<string, string>>,
    { caller, signal }: ToolCall,
    accept?: string,
  ): Promise<unknown> {
    const client = this.#apiServer.asCaller(caller);
    try {
      return await client.request({
        call: `agents ${verb}`,
        method: 'GET',
        path,
        query: new URLSearchParams(query),
        ...(accept !== undefined && { accept }),
        signal,
      });
    } catch (error) {
      throw pageAsOutage(error);
    }
  }

  /** Returns the last bytes of a text, and whether it was longer. @throws like `get` */
  async tail(
    path: string,
    query: Readonly<Record<string, string>>,
    maxBytes: number,
    { caller, signal }: ToolCall,
  ): Promise<{ text: string; isCut: boolean }> {
    const client = this.#apiServer.asCaller(caller);
    const { body } = await client
      .stream({ call: 'agents log', method: 'GET', path, query: new URLSearchParams(query), accept: '*/*', isLong: false, signal })
      .catch((error: unknown) => {
        throw pageAsOutage(error);
      });
    let kept = Buffer.alloc(0);
    let isCut = false;
    for await (const chunk of body) {
      const all = Buffer.concat([kept, chunk as Buffer]);
      isCut ||= all.length > maxBytes;
      kept = all.subarray(-maxBytes);
    }
    return { text: kept.toString(), isCut };
  }
}

function holdsCredentials(resource: string): StatusError {
  const message = `objects of ${resource}.auth.platform.io hold credentials, which no agent gets`;
  return new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'HoldsCredentials', message }] } });
}
