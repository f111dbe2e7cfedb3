/** Issuer as seen by a command-line tool (OpenID Connect Core 1.0, RFC 8252, RFC 8628, RFC 7009). */

import { clientAuthentication } from '@atrium/oidc-client/client-authentication.ts';
import * as client from 'openid-client';
import { deferred } from './deferred.ts';
import { type IssuerFetch, issuerFetch } from './issuer-fetch.ts';
import { type LogIn, readNamed } from './settings.ts';
import { CommandError, harmless, type Terminal } from './terminal.ts';
import { claimsOf, type Tokens } from './tokens.ts';

/** The issuer will never accept this refresh token again. */
export class RefreshRefused extends CommandError {}

/** Authorization request that the browser opens, and the check of its response. */
export interface CodeFlow {
  url: URL;
  state: string;
  redeem(callback: URL): Promise<Tokens>;
}

/** Tolerance for the clocks of two machines. */
const toleranceSeconds = 60;

export class Issuer {
  readonly #configuration: client.Configuration;
  readonly #fetch: IssuerFetch;
  readonly #logIn: LogIn;

  private constructor(configuration: client.Configuration, fetch: IssuerFetch, logIn: LogIn) {
    this.#configuration = configuration;
    this.#fetch = fetch;
    this.#logIn = logIn;
  }

  /** Discovers the endpoints of the issuer. @throws CommandError */
  static async find(logIn: LogIn, terminal: Terminal): Promise<Issuer> {
    const { issuer, clientID, clientSecretFile, clientAuthentication: transport = 'basic', certificateAuthority } = logIn;
    const secret = clientSecretFile === undefined ? undefined : secretIn(await readNamed('--client-secret-file', clientSecretFile));
    const fetch = issuerFetch(terminal, certificateAuthority);
    try {
      const isInsecure = issuer.startsWith('http:');
      const found = await client.discovery(new URL(issuer), clientID, undefined, undefined, {
        [client.customFetch]: fetch.fetch,
        ...(isInsecure && { execute: [client.allowInsecureRequests] }),
      });
      const metadata = found.serverMetadata();
      // openid-client compares issuers as URLs, which ignores a missing last slash; the API server does not.
      if (metadata.issuer !== issuer) throw new CommandError(`the metadata name the issuer ${harmless(metadata.issuer)}`);
      const authentication = clientAuthentication({ secret, transport, offered: metadata.token_endpoint_auth_methods_supported });
      const configuration = new client.Configuration(metadata, clientID, { [client.clockTolerance]: toleranceSeconds }, authentication);
      configuration[client.customFetch] = fetch.fetch;
      if (isInsecure) client.allowInsecureRequests(configuration);
      // Otherwise the signature of an ID token that came over TLS is not checked.
      client.enableNonRepudiationChecks(configuration);
      return new Issuer(configuration, fetch, logIn);
    } catch (error) {
      await fetch.close();
      throw troubleOf('the issuer cannot be used', error, terminal);
    }
  }

  get hasDeviceFlow(): boolean {
    return this.#configuration.serverMetadata().device_authorization_endpoint !== undefined;
  }

  /** @param redirectURL address on which this program listens */
  async codeFlow(redirectURL: string, { isFresh }: { isFresh: boolean }): Promise<CodeFlow> {
    const { scopes, loginHint } = this.#logIn;
    const { verifier, parameters } = await proofKey();
    const [state, nonce] = [client.randomState(), client.randomNonce()];
    const isPushed = this.#configuration.serverMetadata().require_pushed_authorization_requests === true;
    const build = isPushed ? client.buildAuthorizationUrlWithPAR : client.buildAuthorizationUrl;
    const url = await build(this.#configuration, {
      redirect_uri: redirectURL,
      scope: scopes,
      state,
      nonce,
      ...parameters,
      ...(isFresh && { prompt: 'login' }),
      ...(loginHint !== undefined && { login_hint: loginHint }),
    });
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
    const redeem = async (callback: URL) => tokensOf(await client.authorizationCodeGrant(this.#configuration, callback, checks));
    return { url, state, redeem };
  }

  /** @param show shows the user the address, and the code to enter there */
  async deviceFlow(show: (place: { url: string; code: string }) => void, signal: AbortSignal): Promise<Tokens> {
    const { verifier, parameters } = await proofKey();
    // PKCE is not part of this flow (RFC 8628), but Keycloak requires it of clients that must use it. Other issuers ignore unknown
    // parameters.
    const begun = await client.initiateDeviceAuthorization(this.#configuration, { scope: this.#logIn.scopes, ...parameters });
    show({ url: harmless(begun.verification_uri), code: harmless(begun.user_code) });
    // openid-client checks the signal between its pauses only.
    const ended = deferred<never>();
    signal.addEventListener('abort', () => ended.reject(signal.reason), { once: true });
    const polled = client.pollDeviceAuthorizationGrant(this.#configuration, begun, { code_verifier: verifier }, { signal });
    return tokensOf(await Promise.race([polled, ended.promise]));
  }

  /** @throws RefreshRefused if the issuer refuses, or answers for another user */
  async refresh({ refreshToken, ...old }: Tokens & { refreshToken: string }): Promise<Tokens> {
    let answer: client.TokenEndpointResponse;
    try {
      answer = await client.refreshTokenGrant(this.#configuration, refreshToken);
    } catch (error) {
      if (isFinal(error)) throw new RefreshRefused('the issuer has ended the login');
      throw error;
    }
    // Some issuers send no new ID token (OpenID Connect Core 12.2): such a login ends when its ID token expires.
    if (answer.id_token === undefined) throw new RefreshRefused('the issuer gives no new ID token');
    const tokens = tokensOf(answer);
    if (claimsOf(tokens).subject !== claimsOf(old).subject) throw new RefreshRefused('the issuer answered for another user');
    // A refresh token that is not rotated stays valid.
    return { refreshToken, ...tokens };
  }

  /** @returns false if the issuer has no revocation endpoint */
  async revoke(refreshToken: string): Promise<boolean> {
    if (this.#configuration.serverMetadata().revocation_endpoint === undefined) return false;
    await client.tokenRevocation(this.#configuration, refreshToken, { token_type_hint: 'refresh_token' });
    return true;
  }

  async close(): Promise<void> {
    await this.#fetch.close();
  }
}

/** Returns a secret without the byte order mark and the line breaks that editors add, as the service reads its files. */
const secretIn = (text: string): string => text.replace(/^\ufeff/, '').replace(/(?<![\r\n])[\r\n]+$/, '');

/** RFC 7636 */
async function proofKey() {
  const verifier = client.randomPKCECodeVerifier();
  return { verifier, parameters: { code_challenge: await client.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' } };
}

function tokensOf({ id_token: idToken, refresh_token: refreshToken }: client.TokenEndpointResponse): Tokens {
  if (idToken === undefined) throw new CommandError('the issuer gave no ID token');
  return { idToken, ...(refreshToken !== undefined && { refreshToken }) };
}

/** Errors about the client or a temporary state, which do not invalidate the refresh token (RFC 6749, 5.2). */
const passingErrors: readonly string[] = ['invalid_client', 'unauthorized_client', 'temporarily_unavailable', 'slow_down'];

const isFinal = (error: unknown): boolean =>
  error instanceof client.ResponseBodyError && (error.status === 400 || error.status === 401) && !passingErrors.includes(error.error);

/** Returns a failure in words for the user. An abort by the user and a refused refresh token are returned unchanged. */
export function troubleOf(what: string, error: unknown, { signal }: Terminal): Error {
  if (signal.aborted) return signal.reason;
  if (error instanceof RefreshRefused) return error;
  return new CommandError(`${what}: ${wordsOf(error)}`, { cause: error });
}

/** Messages of libraries are left out: they might contain a token. */
function wordsOf(error: unknown): string {
  if (error instanceof client.ResponseBodyError || error instanceof client.AuthorizationResponseError) {
    const { error: code, error_description: description } = error;
    return harmless(description === undefined ? code : `${description} (${code})`);
  }
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof CommandError) return cause.message;
    if (cause.cause instanceof Response && cause.cause.status !== 200) return `the answer has status ${cause.cause.status}`;
    if (cause.name === 'TimeoutError') return 'no answer in time';
    if ('code' in cause && typeof cause.code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(cause.code))
      return `the connection failed with ${cause.code}`;
  }
  return 'the answer cannot be used';
}
