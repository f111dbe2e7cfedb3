import { readSecretFile } from '@atrium/http/secret-file.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { StatusError, unauthorized } from '@atrium/objects/status.ts';
import * as client from 'openid-client';
import { clientAuthentication } from './client-authentication.ts';
import type { IssuerDiscovery } from './discovery.ts';
import { callbackRefused, faultOf, IssuerFault, isFinal, isInvalidGrant, issuerUnavailable } from './errors.ts';
import { customFetch, type InspectedAnswer, type IssuerFetch, isInsecure } from './fetch.ts';
import { type ClientSettings, FatalRefresh } from './types.ts';

/** Unverified tokens that the issuer returned for a code or a refresh token. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly idToken: string | undefined;
  readonly refreshToken: string | undefined;
  /** Seconds; undefined if the issuer does not return it. */
  readonly expiresIn: number | undefined;
}

/** The answer of the userinfo endpoint, or its failure. */
export type UserInfo =
  | { readonly claims: Readonly<Record<string, unknown>> }
  /** @param isRefused true if a retry would fail too */
  | { readonly fault: string; readonly isRefused: boolean };

/** The userinfo endpoint is optional, and gets a part of the time that a login has for the issuer. */
const userInfoTimeoutMs = 3_000;
/** Statuses of a userinfo endpoint that does not accept the access tokens of this client. */
const refusals = [401, 403, 404];

/** Calls the OpenID provider that users log in at. Texts of the issuer do not leave this class. */
export class IssuerClient {
  readonly #settings: ClientSettings;
  readonly #fetch: IssuerFetch;
  readonly #discovery: IssuerDiscovery;

  constructor(settings: ClientSettings, fetch: IssuerFetch, discovery: IssuerDiscovery) {
    this.#settings = settings;
    this.#fetch = fetch;
    this.#discovery = discovery;
  }

  /** Pushes the parameters to an issuer that requires it (RFC 9126); the address then has a reference to them. @throws StatusError 503 */
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

  /** Returns the address of the issuer's logout; `login.logoutURL` if it announces no such endpoint. @throws StatusError 503 */
  async endSessionURL(parameters: Record<string, string>): Promise<string | undefined> {
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return this.#settings.logoutURL;
    return attempt(() => client.buildEndSessionUrl(configuration, parameters).href);
  }

  /** @throws StatusError 401 with a cause `code` for a code that the issuer refuses, 503 */
  async redeem({ code, verifier, redirectURL }: { code: string; verifier: string; redirectURL: string }, signal: AbortSignal) {
    try {
      return await this.#grant('authorization_code', { code, code_verifier: verifier, redirect_uri: redirectURL }, signal);
    } catch (error) {
      if (isInvalidGrant(error)) throw callbackRefused('code');
      throw unavailable(error, 'token endpoint');
    }
  }

  /** @throws FatalRefresh if the issuer refuses the token; StatusError 503 for temporary failures */
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
      // `TokenVerifier` verifies the ID token, because openid-client refuses several audiences without `azp`.
      idToken = members?.id_token;
      delete members?.id_token;
    });
    const tokens = await client.genericGrantRequest(configuration, grantType, parameters);
    if (idToken !== undefined && typeof idToken !== 'string') throw new IssuerFault('gave no usable id_token');
    return { accessToken: tokens.access_token, idToken, refreshToken: tokens.refresh_token, expiresIn: tokens.expiresIn() };
  }

  /**
   * Revokes a token at the issuer (RFC 7009). Without a revocation endpoint, redeems a refresh token and drops the result, which
   * invalidates the token if refresh tokens rotate.
   *
   * @throws FatalRefresh if the issuer does not know the token; StatusError 503 if it cannot be reached
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
   * Asks the userinfo endpoint about the user of an access token (OpenID Connect Core 5.3). Returns no claims without such an endpoint.
   *
   * @throws StatusError 401 if the answer is about another subject; the signal's reason when it aborts
   */
  async userInfo(accessToken: string, subject: string, signal: AbortSignal): Promise<UserInfo> {
    let status = 200;
    try {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(userInfoTimeoutMs)]);
      const configuration = await this.#configuration(deadline, (answer) => {
        ({ status } = answer);
        // The request asks for no signed answer, and openid-client would accept one without verifying the signature.
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

  /** Returns the configuration of openid-client for the calls of one request. Reads the secret each time, so that it can be rotated. */
  async #configuration(signal = neverAborts, onAnswer?: (answer: InspectedAnswer) => void): Promise<client.Configuration> {
    const { issuer, clientID, clientSecretFile, clientAuthentication: transport } = this.#settings;
    const metadata = await this.#discovery.metadata();
    const { token_endpoint_auth_methods_supported: offered } = metadata;
    try {
      const secret = clientSecretFile === undefined ? undefined : await readSecretFile(clientSecretFile);
      const configuration = new client.Configuration(metadata, clientID, {}, clientAuthentication({ secret, transport, offered }));
      if (isInsecure(issuer)) client.allowInsecureRequests(configuration);
      configuration[client.customFetch] = customFetch(this.#fetch, signal, onAnswer);
      return configuration;
    } catch (error) {
      throw unavailable(error);
    }
  }
}

/** Converts an error to 503, except a StatusError. @param endpoint for the log */
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
