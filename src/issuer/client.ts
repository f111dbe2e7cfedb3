import { readFile } from 'node:fs/promises';
import * as client from 'openid-client';
import { StatusError, unauthorized } from '../api/status.ts';
import { unending } from '../kubernetes/abortable.ts';
import { clientAuthentication } from './client-authentication.ts';
import { IssuerDiscovery, type IssuerMetadata } from './discovery.ts';
import { callbackRefused, faultOf, IssuerFault, isFinal, isInvalidGrant, issuerUnavailable } from './errors.ts';
import { customFetch, IssuerFetch, isInsecure, type SeenAnswer } from './fetch.ts';
import { FatalRefresh, type IssuerSettings } from './types.ts';

/** What the issuer gave for a code or a refresh token, not yet verified. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly idToken: string | undefined;
  readonly refreshToken: string | undefined;
  /** Seconds; undefined if it does not say. */
  readonly expiresIn: number | undefined;
}

/** The answer of the userinfo endpoint, or its failure. */
export type UserInfo =
  | { readonly claims: Readonly<Record<string, unknown>> }
  /** @param isRefused whether another attempt would change nothing */
  | { readonly fault: string; readonly isRefused: boolean };

/** An optional source gets a part of the time that a login has for the issuer. */
const userInfoTimeoutMs = 3_000;
/** Statuses of a userinfo endpoint that does not take the access tokens of this client. */
const refusals = [401, 403, 404];

/**
 * The OpenID provider that people log in at: its metadata and the calls to it. It is asked when a user
 * needs it, never at the start. What it says in words stays here.
 */
export class IssuerClient {
  readonly #settings: IssuerSettings;
  readonly #fetch: IssuerFetch;
  readonly #discovery: IssuerDiscovery;

  constructor(settings: IssuerSettings, clock: () => number) {
    this.#settings = settings;
    this.#fetch = new IssuerFetch(settings);
    this.#discovery = new IssuerDiscovery(settings, this.#fetch, clock);
  }

  async stop(): Promise<void> {
    await this.#fetch.stop();
  }

  /** Why the issuer cannot be used, in few words without names. */
  failure(): string | undefined {
    return this.#discovery.failure();
  }

  /** @throws StatusError 503 */
  metadata(): Promise<IssuerMetadata> {
    return this.#discovery.metadata();
  }

  /** The parameters are pushed to an issuer that demands it (RFC 9126); the address then holds a reference to them. @throws StatusError 503 */
  async authorizationURL(parameters: Record<string, string>, signal: AbortSignal): Promise<string> {
    const configuration = await this.#configuration(signal);
    const isPushed = configuration.serverMetadata().require_pushed_authorization_requests === true;
    if (!isPushed) return attempt(() => client.buildAuthorizationUrl(configuration, parameters).href);
    try {
      return (await client.buildAuthorizationUrlWithPAR(configuration, parameters)).href;
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Where the issuer ends its own session; `login.logoutURL` if it announces no such endpoint. @throws StatusError 503 */
  async endSessionURL(parameters: Record<string, string>): Promise<string | undefined> {
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return this.#settings.logoutURL;
    return attempt(() => client.buildEndSessionUrl(configuration, parameters).href);
  }

  /** @throws StatusError 401 cause `code` for a code it does not know, 503 */
  async redeem({ code, verifier, redirectURL }: { code: string; verifier: string; redirectURL: string }, signal: AbortSignal) {
    try {
      return await this.#grant('authorization_code', { code, code_verifier: verifier, redirect_uri: redirectURL }, signal);
    } catch (error) {
      if (isInvalidGrant(error)) throw callbackRefused('code');
      throw unavailable(error, 'token endpoint');
    }
  }

  /** @throws FatalRefresh if the issuer says no; StatusError 503 for whatever passes */
  async refresh(refreshToken: string, signal: AbortSignal): Promise<IssuedTokens> {
    try {
      return await this.#grant('refresh_token', { refresh_token: refreshToken }, signal);
    } catch (error) {
      if (isFinal(error)) throw new FatalRefresh('the issuer refuses the refresh token');
      throw unavailable(error, 'token endpoint');
    }
  }

  async #grant(grantType: string, parameters: Record<string, string>, signal: AbortSignal): Promise<IssuedTokens> {
    let idToken: unknown;
    const configuration = await this.#configuration(signal, ({ members }) => {
      // Verified by `TokenVerifier` alone: openid-client refuses several audiences without `azp`.
      idToken = members?.id_token;
      delete members?.id_token;
    });
    const tokens = await client.genericGrantRequest(configuration, grantType, parameters);
    if (idToken !== undefined && typeof idToken !== 'string') throw new IssuerFault('gave no usable id_token');
    return { accessToken: tokens.access_token, idToken, refreshToken: tokens.refresh_token, expiresIn: tokens.expiresIn() };
  }

  /**
   * Ends a token at the issuer (RFC 7009). Without a revocation endpoint a refresh token is redeemed and the result thrown away, which
   * ends it where refresh tokens rotate.
   *
   * @throws FatalRefresh if the issuer does not know the token; StatusError 503 if it was not reached
   */
  async revoke(token: string, hint: 'refresh_token' | 'access_token', signal: AbortSignal): Promise<void> {
    const configuration = await this.#configuration(signal);
    if (configuration.serverMetadata().revocation_endpoint === undefined) {
      if (hint === 'refresh_token') await this.refresh(token, signal);
      return;
    }
    try {
      await client.tokenRevocation(configuration, token, { token_type_hint: hint });
    } catch (error) {
      const isUnknown = error instanceof client.ResponseBodyError && ['invalid_grant', 'invalid_token'].includes(error.error);
      throw isUnknown ? new FatalRefresh('the issuer does not know the token') : unavailable(error);
    }
  }

  /**
   * Asks the userinfo endpoint about the user of an access token (OpenID Connect Core 5.3). No claims without such an endpoint.
   *
   * @throws StatusError 401 if the answer is about another subject; the signal's reason when it aborts
   */
  async userInfo(accessToken: string, subject: string, signal: AbortSignal): Promise<UserInfo> {
    let status = 200;
    try {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(userInfoTimeoutMs)]);
      const configuration = await this.#configuration(deadline, (answer) => {
        ({ status } = answer);
        // A signed answer was not asked for, and openid-client would believe one whose signature was not checked.
        if (/^application\/jwt\b/i.test(answer.headers['content-type'] ?? '')) throw new IssuerFault('gave signed userinfo');
      });
      if (configuration.serverMetadata().userinfo_endpoint === undefined) return { claims: {} };
      return { claims: await client.fetchUserInfo(configuration, accessToken, subject) };
    } catch (error) {
      signal.throwIfAborted();
      const isOther = error instanceof client.ClientError && error.code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED';
      if (isOther) throw unauthorized({ tokenGiven: true });
      return { fault: status === 200 ? faultOf(error) : `answered ${status}`, isRefused: refusals.includes(status) };
    }
  }

  /** Returns the algorithms that the issuer announces for ID tokens; RS256 if none (OpenID Connect Core 3.1.3.7). @throws StatusError 503 */
  async idTokenAlgorithms(): Promise<readonly string[]> {
    const { idTokenAlgorithm } = this.#settings;
    if (idTokenAlgorithm !== undefined) return [idTokenAlgorithm];
    return (await this.metadata()).id_token_signing_alg_values_supported ?? ['RS256'];
  }

  /** The published keys, as they came. @throws StatusError 503 */
  async fetchKeys(): Promise<unknown> {
    const { jwks_uri: url } = await this.metadata();
    try {
      if (url === undefined || (isInsecure(url) && !isInsecure(this.#settings.issuer)))
        throw new IssuerFault('names no safe place of its keys');
      const { status, text } = await this.#fetch.send(url, {
        headers: { accept: 'application/json, application/jwk-set+json' },
        signal: unending,
      });
      if (status !== 200) throw new IssuerFault(`answered ${status} instead of its keys`);
      return JSON.parse(text);
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** openid-client's view of issuer and client, for the calls of one request. The secret is read each time, so that it can be rotated. */
  async #configuration(signal = unending, onAnswer?: (answer: SeenAnswer) => void): Promise<client.Configuration> {
    const { issuer, clientID, clientSecretFile, clientAuthentication: transport } = this.#settings;
    const metadata = await this.metadata();
    const { token_endpoint_auth_methods_supported: offered } = metadata;
    try {
      const secret = clientSecretFile === undefined ? undefined : (await readFile(clientSecretFile, 'utf8')).trim();
      const configuration = new client.Configuration(metadata, clientID, {}, clientAuthentication({ secret, transport, offered }));
      if (isInsecure(issuer)) client.allowInsecureRequests(configuration);
      configuration[client.customFetch] = customFetch(this.#fetch, signal, onAnswer);
      return configuration;
    } catch (error) {
      throw unavailable(error);
    }
  }
}

/** 503, unless it is a Status already. @param endpoint for the log */
function unavailable(error: unknown, endpoint?: string): StatusError {
  if (error instanceof StatusError) return error;
  return issuerUnavailable(endpoint === undefined ? error : new IssuerFault(`${endpoint}: ${faultOf(error)}`));
}

function attempt<T>(build: () => T): T {
  try {
    return build();
  } catch (error) {
    throw unavailable(error);
  }
}
