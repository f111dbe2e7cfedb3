import { IssuerDiscovery } from '@atrium/oidc-client/discovery.ts';
import { differsBySlash, RefusalLog } from '@atrium/oidc-client/errors.ts';
import { IssuerFetch } from '@atrium/oidc-client/fetch.ts';
import { IssuerKeys } from '@atrium/oidc-client/keys.ts';
import { TokenVerifier } from '@atrium/oidc-client/token-verifier.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import { decodeJwt } from 'jose';
import type { Services } from '../services.ts';

type IssuerServices = Pick<Services, 'config' | 'log' | 'metrics' | 'now' | 'clock'>;
type Settings = Services['config']['tokenExchange']['issuers'][number];

/** An issuer of workloads, for one audience. */
export interface WorkloadIssuer {
  readonly id: string;
  readonly issuer: string;
  readonly audience: string;
  /** @throws StatusError 401 for a token that is not accepted, 503 while the keys of the issuer cannot be read */
  verify(token: string): Promise<VerifiedClaims>;
  stop(): Promise<void>;
}

/** Creates an issuer of the configuration, which alone names addresses that the service calls for an exchange. */
function workloadIssuer(services: IssuerServices, { id, issuer, audience, caFile, algorithm }: Settings): WorkloadIssuer {
  const settings = {
    ...{ id, issuer, clientID: audience, audiences: [], caFile, idTokenAlgorithm: algorithm },
    clientAuthentication: 'basic' as const,
  };
  const fetch = new IssuerFetch(settings, services.metrics);
  const discovery = new IssuerDiscovery(settings, fetch, services.clock);
  const keys = new IssuerKeys(services, { issuer, discovery, fetch });
  const read = (claims: VerifiedClaims) => ({ claims, login: claims.sub });
  const verifier = new TokenVerifier({ ...services, read }, settings, discovery, keys, new RefusalLog(services, issuer));
  return { id, issuer, audience, verify: (token) => verifier.workloadToken(token), stop: () => fetch.stop() };
}

/** The issuers of `tokenExchange.issuers`. */
export class WorkloadIssuers {
  readonly #log: Services['log'];
  readonly #all: readonly WorkloadIssuer[];

  constructor(services: IssuerServices) {
    this.#log = services.log;
    this.#all = services.config.tokenExchange.issuers.map((settings) => workloadIssuer(services, settings));
  }

  /** Finds the issuer of a token by claims that are not verified yet. Returns undefined for a text that is no JWT, too. */
  of(token: string): WorkloadIssuer | undefined {
    const { iss, aud } = claimsIn(token);
    const audiences = [aud].flat();
    const found = this.#all.find(({ issuer, audience }) => issuer === iss && audiences.includes(audience));
    if (found === undefined && this.#all.some(({ issuer }) => differsBySlash(String(iss), issuer)))
      this.#log.info('token exchange refused: an issuer of tokenExchange.issuers differs from the token by a slash at the end');
    return found;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((issuer) => issuer.stop()));
  }
}

function claimsIn(token: string): { iss?: unknown; aud?: unknown } {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}
