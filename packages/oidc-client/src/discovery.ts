import { runOutsideFlows } from '@atrium/http/limits/semaphore.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { reader } from '@atrium/objects/reader.ts';
import { wholeRetrySeconds } from '@atrium/objects/status.ts';
import * as client from 'openid-client';
import { z } from 'zod';
import { differsBySlash, faultOf, IssuerFault, issuerUnavailable } from './errors.ts';
import { customFetch, type IssuerFetch, isInsecure } from './fetch.ts';
import type { ClientSettings } from './types.ts';

/**
 * Milliseconds for which a failure is remembered, so that requests do not hammer an issuer that is down. The first failure is forgotten
 * soon, and each further one lasts twice as long: behind a load balancer the embedded issuer is available a moment after this service.
 */
const minFailureMemoryMs = 1_000;
const maxFailureMemoryMs = 10_000;
/** Endpoints and algorithms change rarely. The old metadata remains in use while it cannot be read again. */
const maxAgeMs = 3_600_000;

export type IssuerMetadata = Readonly<client.ServerMetadata>;

/** Reports whether the issuer names itself in each authorization response (RFC 9207). */
export const announcesIss = ({ authorization_response_iss_parameter_supported: isAnnounced }: IssuerMetadata): boolean =>
  isAnnounced === true;

const defaultAlgorithm = 'RS256';
/** Odd values count as missing: openid-client does not validate this member. */
const algorithmNames = z.array(z.string()).catch([]);

type DiscoverySettings = Pick<ClientSettings, 'issuer' | 'clientID' | 'idTokenAlgorithm'>;

/** Caches the issuer's endpoints and capabilities (OpenID Connect Discovery 1.0). */
export class IssuerDiscovery {
  readonly #settings: DiscoverySettings;
  readonly #fetch: IssuerFetch;
  readonly #clock: () => number;
  #known: { metadata: IssuerMetadata; at: number } | undefined;
  #failed: { error: unknown; until: number; memoryMs: number } | undefined;
  #asking: Promise<IssuerMetadata> | undefined;

  /** @param clock monotonic, in milliseconds */
  constructor(settings: DiscoverySettings, fetch: IssuerFetch, clock: () => number) {
    this.#settings = settings;
    this.#fetch = fetch;
    this.#clock = clock;
  }

  /** Returns the reason of the last failure, in a few words without names. Starts an attempt that is due, and does not wait for it. */
  failure(): string | undefined {
    this.metadata().catch(() => undefined);
    return this.#failed && faultOf(this.#failed.error);
  }

  /**
   * Returns the cached metadata, and reads it again after an hour.
   *
   * @throws StatusError 503 if the issuer has never answered; the failure is remembered for ten seconds at most
   */
  async metadata(): Promise<IssuerMetadata> {
    const known = this.#known;
    if (known !== undefined && this.#clock() - known.at < maxAgeMs) return known.metadata;
    const waitMs = this.#failed === undefined ? 0 : this.#failed.until - this.#clock();
    if (waitMs <= 0) {
      this.#asking ??= runOutsideFlows(() => this.#ask()).finally(() => {
        this.#asking = undefined;
      });
      this.#asking.catch(() => undefined);
    }
    if (known !== undefined) return known.metadata;
    return this.#asking ?? Promise.reject(issuerUnavailable(this.#failed?.error, wholeRetrySeconds(waitMs)));
  }

  /**
   * Returns the algorithms of ID tokens to this client. A client that is registered without `id_token_signed_response_alg` gets RS256
   * (OpenID Connect Dynamic Client Registration 1.0, 2); an issuer that does not announce RS256 uses any of those it announces.
   *
   * @throws StatusError 503
   */
  async idTokenAlgorithms(): Promise<readonly string[]> {
    const { idTokenAlgorithm } = this.#settings;
    if (idTokenAlgorithm !== undefined) return [idTokenAlgorithm];
    const announced = algorithmNames.parse((await this.metadata()).id_token_signing_alg_values_supported);
    return announced.length === 0 || announced.includes(defaultAlgorithm) ? [defaultAlgorithm] : announced;
  }

  async #ask(): Promise<IssuerMetadata> {
    const at = this.#clock();
    const { issuer, clientID } = this.#settings;
    try {
      const found = await client.discovery(new URL(issuer), clientID, undefined, undefined, {
        [client.customFetch]: customFetch(this.#fetch, neverAborts),
        ...(isInsecure(issuer) && { execute: [client.allowInsecureRequests] }),
      });
      const metadata = found.serverMetadata();
      // openid-client compares issuers as URLs, and ignores a missing slash after the host.
      if (metadata.issuer !== issuer) throw new IssuerFault(otherIssuer(metadata.issuer, issuer));
      this.#known = { metadata, at };
      this.#failed = undefined;
      return metadata;
    } catch (refusal) {
      const error = issuerMismatch(refusal, issuer) ?? refusal;
      const memoryMs = this.#failed === undefined ? minFailureMemoryMs : Math.min(maxFailureMemoryMs, this.#failed.memoryMs * 2);
      this.#failed = { error, until: at + memoryMs, memoryMs };
      throw issuerUnavailable(error);
    }
  }
}

/** Explains a slash at the end, which is a common mistake. The text names neither issuer, because addresses stay out of `/readyz`. */
const otherIssuer = (named: string, configured: string): string =>
  differsBySlash(named, configured)
    ? `calls itself the same ${named.endsWith('/') ? 'with' : 'without'} a slash at the end: write login.issuer as it does`
    : 'the metadata is that of another issuer';

const readMismatch = reader(z.object({ attribute: z.string(), body: z.object({ issuer: z.unknown() }) }));

/** Returns a fault if openid-client refused the issuer in the metadata. */
function issuerMismatch(refusal: unknown, configured: string): IssuerFault | undefined {
  let detail = refusal;
  while (detail instanceof Error) detail = detail.cause;
  const { attribute, body } = readMismatch(detail);
  return attribute === 'issuer' && body ? new IssuerFault(otherIssuer(String(body.issuer), configured)) : undefined;
}
