/** Bodies of writes that audit events keep, or whose facts they tell. */
import { Readable } from 'node:stream';
import type { PassedCall } from '@atrium/kubernetes/passage.ts';
import type { TargetResource } from '@atrium/kubernetes/request-target.ts';
import { isSecret, keptText, maxBodyTextBytes } from '../audit/kept-content.ts';

type Body = NonNullable<PassedCall['body']>;

/** The begin of a body, read while it is passed on. */
export class KeptBody {
  readonly #chunks: Uint8Array[] = [];
  readonly #target: TargetResource;
  #bytes = 0;

  private constructor(target: TargetResource) {
    this.#target = target;
  }

  /** Returns undefined for requests whose bodies are neither kept nor read. */
  static of(method: string, target: TargetResource): KeptBody | undefined {
    return ['POST', 'PUT', 'PATCH'].includes(method) && !isSecret(target) ? new KeptBody(target) : undefined;
  }

  /** Returns the body of a deletion, which has its options, and never a value of an object. */
  static ofOptions(method: string, target: TargetResource): KeptBody | undefined {
    return method === 'DELETE' ? new KeptBody(target) : undefined;
  }

  /** Returns the body to pass on. */
  reading({ stream, length }: Body): Body {
    return { stream: Readable.from(this.#read(stream), { objectMode: false }), length };
  }

  /** True if no byte was read. */
  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /** Returns the body; undefined for one that is too long, or is in another format than JSON. */
  get content(): unknown {
    if (this.isEmpty || this.#bytes > maxBodyTextBytes) return undefined;
    try {
      return JSON.parse(Buffer.concat(this.#chunks).toString());
    } catch {
      return undefined;
    }
  }

  /** Returns the body as JSON in one line, without credentials; undefined for one that is too long, or is in another format. */
  get text(): string | undefined {
    return keptText(this.#target, this.content);
  }

  async *#read(stream: Readable): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream) {
      this.#bytes += chunk.length;
      if (this.#bytes <= maxBodyTextBytes) this.#chunks.push(chunk);
      yield chunk;
    }
  }
}
