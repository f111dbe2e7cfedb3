import type { ResourceTarget } from '@atrium/kubernetes/resource.ts';
import { CallerResource, type ReadOptions } from '@atrium/kubernetes/resource-client.ts';
import type { Members } from '@atrium/objects/members.ts';
import { badParameter, StatusError } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import type { ServedKind } from './kinds.ts';
import type { ToolCall } from './tool.ts';
import { withoutSecrets } from './untrusted.ts';

/** Kinds of the service whose objects hold no credential. Others have seals and digests. */
const openKinds = ['accesspolicies', 'accessrequests', 'bindingreviews', 'groups', 'userbindings', 'users'];

type Kind = Pick<ServedKind, 'type' | 'kind' | 'isNamespaced'>;

/** Reads the cluster with the credential of the caller. */
export class ClusterReads {
  readonly #apiServer: Services['apiServer'];

  constructor({ apiServer }: Services) {
    this.#apiServer = apiServer;
  }

  /** Returns an object without values of Secrets. @throws StatusError 400, 403; UpstreamError in the words of the API server; 503, 504 */
  async get(kind: Kind, { namespace, name }: { namespace: string | undefined; name: string }, call: ToolCall): Promise<Members> {
    const { group, resource } = kind.type;
    call.about({ apiGroup: group, resource, namespace, name });
    if (kind.isNamespaced && namespace === undefined)
      throw badParameter('namespace', `is required: ${resource} are in namespaces`, 'FieldValueRequired');
    if (group === 'auth.platform.io' && !openKinds.includes(resource)) throw holdsCredentials(resource);
    return withoutSecrets({ kind: kind.kind, ...(await this.#of(kind, namespace, call).get(name, call.signal)) });
  }

  /** Returns the answer to a list. @throws like `get` */
  list(kind: Kind, namespace: string | undefined, options: Omit<ReadOptions, 'signal'>, call: ToolCall): Promise<unknown> {
    return this.#of(kind, namespace, call).list({ ...options, signal: call.signal });
  }

  /** Returns the last bytes of a text, and whether it was longer. @throws like `get` */
  async tail({ kind, namespace, maxBytes, query, ...target }: TailQuery, call: ToolCall): Promise<{ text: string; isCut: boolean }> {
    const options = { query: new URLSearchParams(query), accept: '*/*', signal: call.signal };
    const { body } = await this.#of(kind, namespace, call).stream(target, options);
    let kept = Buffer.alloc(0);
    let isCut = false;
    for await (const chunk of body) {
      const all = Buffer.concat([kept, chunk as Buffer]);
      isCut ||= all.length > maxBytes;
      kept = all.subarray(-maxBytes);
    }
    return { text: kept.toString(), isCut };
  }

  #of({ type, kind, isNamespaced }: Kind, namespace: string | undefined, { caller }: ToolCall): CallerResource {
    const place = isNamespaced && namespace !== undefined ? { namespace } : {};
    return new CallerResource(this.#apiServer.asCaller(caller), { type, kind, ...place });
  }
}

interface TailQuery extends Required<Pick<ResourceTarget, 'name' | 'subresource'>> {
  readonly kind: Kind;
  readonly namespace: string;
  readonly query: Readonly<Record<string, string>>;
  readonly maxBytes: number;
}

function holdsCredentials(resource: string): StatusError {
  const message = `objects of ${resource}.auth.platform.io hold credentials, which no agent gets`;
  return new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'HoldsCredentials', message }] } });
}
