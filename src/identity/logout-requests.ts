import type { Configuration } from 'oidc-provider';
import { discard, TrustingAgent } from '../http/trusting-agent.ts';

/** Timeout of the requests, which run in parallel while the user waits for the logout. */
const timeoutMs = 2_500;
const maxConnections = 16;

type ProviderFetch = NonNullable<Configuration['fetch']>;

/**
 * Notifies relying parties of logouts by HTTP. The addresses come from the configuration, and may be inside the cluster, which the
 * provider's own dispatcher would refuse. Redirects are not followed, and only the status of the answer is read.
 */
export class LogoutRequests {
  readonly #agent: TrustingAgent;

  constructor({ caFile }: { caFile: string | undefined }) {
    this.#agent = new TrustingAgent({ caFile, connections: maxConnections, connectTimeoutMs: timeoutMs });
  }

  /** @throws Error if there is no answer in time */
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
