import type { Configuration } from 'oidc-provider';
import { Agent, fetch } from 'undici';
import { trustIn } from '../http/trust.ts';

/** The user who logs out waits for all of them, which run at a time. */
const timeoutMs = 2_500;
const maxConnections = 16;

type ProviderFetch = NonNullable<Configuration['fetch']>;

/**
 * HTTP to relying parties that are to be told of a logout, at addresses of the configuration alone: they may be inside the cluster, which
 * the provider's own dispatcher would refuse. No redirect is followed, and of the answer the status is all that is looked at.
 */
export class LogoutRequests {
  readonly #caFile: string | undefined;
  #agent: Promise<Agent> | undefined;

  constructor({ caFile }: { caFile: string | undefined }) {
    this.#caFile = caFile;
  }

  /** @throws Error if there was no answer in time */
  readonly fetch: ProviderFetch = async (url, { method = 'GET', headers, body } = {}) => {
    const answer = await fetch(String(url), {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body instanceof URLSearchParams && { body }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      dispatcher: await this.#connections(),
    });
    await answer.body?.cancel();
    return new Response(null, { status: answer.status });
  };

  async stop(): Promise<void> {
    await (await this.#agent?.catch(() => undefined))?.destroy();
  }

  /** @throws Error if the file with the certificate authority cannot be read; the next call tries again */
  #connections(): Promise<Agent> {
    this.#agent ??= trustIn(this.#caFile).then(
      (trust) => new Agent({ connect: { ...trust, timeout: timeoutMs }, connections: maxConnections }),
      (error: unknown) => {
        this.#agent = undefined;
        throw error;
      },
    );
    return this.#agent;
  }
}
