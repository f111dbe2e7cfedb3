/** Bodies of writes that audit events keep, or whose facts they tell. */
import { Readable } from 'node:stream';
import type { PassedCall } from '@atrium/kubernetes/passage.ts';
import type { TargetResource } from '@atrium/kubernetes/request-target.ts';

/** Bytes that a body may add to its event. */
export const maxBodyTextBytes = 8 * 1024;

/** Kinds of the service without credentials. */
const ownKinds = ['accesspolicies', 'accessrequests', 'groups', 'userbindings'];
/** Groups of reviews, which have tokens, and of the service. */
const closedGroups = ['authentication.k8s.io', 'auth.platform.io'];

/** Reports whether the bodies of a resource have credentials, or may have them: they are never kept. */
function isSecret({ group, resource, subresource }: TargetResource): boolean {
  if (group === 'auth.platform.io' && ownKinds.includes(resource)) return false;
  // Behind a proxy an application takes logins.
  return closedGroups.includes(group) || (group === '' && resource === 'secrets') || ['token', 'proxy'].includes(subresource);
}

/** Reports whether a body is kept without a policy: those of RBAC and of access. */
export const isKeptByDefault = ({ group, resource }: TargetResource): boolean =>
  group === 'rbac.authorization.k8s.io' || (group === 'auth.platform.io' && ownKinds.includes(resource));

type Body = NonNullable<PassedCall['body']>;

/** The begin of a body, read while it is passed on. */
export class KeptBody {
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;

  private constructor() {}

  /** Returns undefined for requests whose bodies are neither kept nor read. */
  static of(method: string, target: TargetResource): KeptBody | undefined {
    return ['POST', 'PUT', 'PATCH'].includes(method) && !isSecret(target) ? new KeptBody() : undefined;
  }

  /** Returns the body to pass on. */
  reading({ stream, length }: Body): Body {
    return { stream: Readable.from(this.#read(stream), { objectMode: false }), length };
  }

  /** Returns the body; undefined for one that is too long, or is in another format than JSON. */
  get content(): unknown {
    if (this.#bytes === 0 || this.#bytes > maxBodyTextBytes) return undefined;
    try {
      return JSON.parse(Buffer.concat(this.#chunks).toString());
    } catch {
      return undefined;
    }
  }

  /** Returns the body as JSON in one line; undefined for one that is too long, or is in another format. */
  get text(): string | undefined {
    const text = JSON.stringify(this.content);
    // The event is JSON itself.
    return text === undefined || Buffer.byteLength(JSON.stringify(text)) > maxBodyTextBytes ? undefined : text;
  }

  async *#read(stream: Readable): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      this.#bytes += chunk.length;
      if (this.#bytes <= maxBodyTextBytes) this.#chunks.push(chunk);
      yield chunk;
    }
  }
}
