/**
 * An identity provider: `discovery` reads its metadata, `client` calls it, `verifier` verifies its tokens, `tokens` turns its answers
 * into verified tokens, and `settings` map its claims to a user. `Issuers` finds the issuer of a token.
 */
import type { Check } from '@atrium/http/health.ts';
import { IssuerClient } from '@atrium/oidc-client/client.ts';
import { IssuerDiscovery } from '@atrium/oidc-client/discovery.ts';
import { faultOf, RefusalLog } from '@atrium/oidc-client/errors.ts';
import { IssuerFetch } from '@atrium/oidc-client/fetch.ts';
import { IssuerKeys } from '@atrium/oidc-client/keys.ts';
import { TokenVerifier } from '@atrium/oidc-client/token-verifier.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import { credentialsFor, type IssuerConfig, usernamePrefixOf } from '../config/issuers.ts';
import type { Config } from '../config/schema.ts';
import type { Services } from '../services.ts';
import { loginOf, usedClaims } from './claims.ts';
import { SealedBearers } from './sealed-bearers.ts';
import type { IssuerSettings } from './settings.ts';
import { IssuerTokens } from './tokens.ts';

const discardMs = 3_000;

export interface Issuer {
  readonly settings: IssuerSettings;
  readonly discovery: IssuerDiscovery;
  readonly client: IssuerClient;
  readonly verifier: TokenVerifier;
  readonly tokens: IssuerTokens;
  readonly bearers: SealedBearers;
  /** Revokes tokens that no caller received, if the issuer can be reached. Never throws. */
  discard(refreshToken: string): Promise<void>;
  readonly checks: Check[];
  /** Returns the reason for which the issuer cannot be reached, in a few words; undefined if it can. */
  unreachable(): Promise<string | undefined>;
  stop(): Promise<void>;
}

/** @param all issuers of the configuration */
export function createIssuer(
  services: Pick<Services, 'config' | 'log' | 'metrics' | 'now' | 'clock' | 'keyRing'>,
  issuer: IssuerConfig,
  all: readonly IssuerConfig[],
): Issuer {
  const { config, log, metrics, clock } = services;
  const credentials = credentialsFor(config, issuer);
  const isOneOfSeveral = all.length > 1;
  const settings: IssuerSettings = {
    ...issuer,
    isForwarded: credentials === 'passthrough',
    isOneOfSeveral,
    ...(isOneOfSeveral && { foreign: foreignPrefixes(all.filter((other) => other !== issuer)) }),
  };
  const refusals = new RefusalLog(services, settings.issuer);
  const fetch = new IssuerFetch(settings, metrics);
  const discovery = new IssuerDiscovery(settings, fetch, clock);
  const client = new IssuerClient(settings, fetch, discovery);
  const read = (given: VerifiedClaims) => {
    const claims = usedClaims(given, settings);
    return { claims, login: loginOf(claims, settings) };
  };
  const keys = new IssuerKeys(services, { issuer: settings.issuer, discovery, fetch });
  const verifier = new TokenVerifier({ ...services, read }, settings, discovery, keys, refusals);
  return {
    settings,
    discovery,
    client,
    verifier,
    tokens: new IssuerTokens(services, settings, { client, verifier, refusals }),
    bearers: new SealedBearers(services, settings),
    async discard(refreshToken) {
      try {
        await client.revoke(refreshToken, 'refresh_token', AbortSignal.timeout(discardMs));
      } catch (error) {
        log.warn({ err: error }, 'unused tokens could not be revoked');
      }
    },
    checks: [
      {
        name: isOneOfSeveral ? `identity-provider-${issuer.id}` : 'identity-provider',
        critical: false,
        failure: () => discovery.failure(),
      },
    ],
    unreachable: () =>
      discovery.metadata().then(
        () => undefined,
        (error: unknown) => faultOf(error),
      ),
    stop: () => fetch.stop(),
  };
}

const foreignPrefixes = (others: readonly IssuerConfig[]) => ({
  usernames: others.map(usernamePrefixOf).filter((prefix) => prefix !== ''),
  groups: others.map(({ claims }) => claims.groupsPrefix).filter((prefix) => prefix !== ''),
});

/** Removes slashes at the end. */
const bare = (publicURL: string): string => publicURL.replace(/\/{1,8}$/, '');

/** Returns the address of the console: the public URL with one slash at the end. */
const consoleURLOf = (publicURL: string): string => `${bare(publicURL)}/`;

/** Returns the addresses that the issuer may redirect to after a logout. The first is the default. */
export const postLogoutURLsOf = (publicURL: string, { postLogoutRedirectURLs }: Pick<Config['login'], 'postLogoutRedirectURLs'>) =>
  postLogoutRedirectURLs ?? [consoleURLOf(publicURL)];

/** Returns the addresses that the issuer may redirect to after a login: the settings and both callbacks. The first is the default. */
export function redirectURLsOf(publicURL: string, { redirectURLs }: Pick<Config['login'], 'redirectURLs'>): string[] {
  const callbacks = ['v1', 'v2'].map((version) => `${bare(publicURL)}/api/${version}/token/callback`);
  return [...new Set([...(redirectURLs ?? [consoleURLOf(publicURL)]), ...callbacks])];
}
