import type { Configuration } from 'oidc-provider';
import { discard, TrustingAgent } from '../http/trusting-agent.ts';

/** The user who logs out waits for all of them, which run at a time. */
const timeoutMs = 2_500;
const maxConnections = 16;

type ProviderFetch = NonNullable<Configuration['fetch']>;

/**
 * HTTP to relying parties that are to be told of a logout, at addresses of the configuration alone: they may be inside the cluster, which
 * the provider's own dispatcher would refuse. No redirect is followed, and of the answer the status is all that is looked at.
 */
export class LogoutRequests {
  readonly #agent: TrustingAgent;

  constructor({ caFile }: { caFile: string | undefined }) {
    this.#agent = new TrustingAgent({ caFile, connections: maxConnections, connectTimeoutMs: timeoutMs });
  }

  /** @throws Error if there was no answer in time */
  readonly fetch: ProviderFetch = async (url, { method, headers, body } = {}) => {
    const answer = await this.#agent.request(String(url), {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body instanceof URLSearchParams && { body }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    discard(answer.body);
    return new Response(null, { status: answer.statusCode });
  };

  stop(): Promise<void> {
    return this.#agent.stop();
  }
}
