/**
 * An OpenID provider for tests: real HTTP, real keys, every endpoint that a relying party uses, no user to ask (it agrees at once), and
 * one switch per way of misbehaving.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { text } from 'node:stream/consumers';
import type { KeyPair } from '../../../cluster/certificates.ts';
import { freePort } from '../../../support/free-port.ts';
import { listen, stopListening } from '../../../support/listening.ts';
import { type Answer, type Endpoint, endpoints, json, oauthError, type SeenRequest } from './answers.ts';
import { providerCertificates } from './certificates.ts';
import { afterLogout, backToClient, isClient, sendLogoutToken } from './client.ts';
import { type Grant, Grants } from './grants.ts';
import { type Algorithm, createSigningKey, type SigningKey } from './keys.ts';
import { metadataOf } from './metadata.ts';
import type { Misbehaviour } from './misbehaviour.ts';
import { type Claims, createToken, halfHash, type Signers, type TokenChange } from './tokens.ts';

export interface ProviderOptions {
  clientID?: string;
  /** Without it the client is a public one. */
  clientSecret?: string;
  /** Serve https with a certificate of an authority that no other client trusts; default: plain http. A real API server trusts no other. */
  tls?: boolean;
  /** Loopback address to listen on. The certificate is for 127.0.0.1 alone, so that another one makes it wrong. */
  host?: string;
  now?: () => Date;
}

const path = '/tenant';
/** Longer than a client keeps an idle connection: none is reused at the moment at which it ends here. */
const keepAliveTimeout = 60_000;
const jane: Claims = {
  sub: 'jane-1',
  email: 'jane@example.com',
  email_verified: true,
  name: 'Jane Doe',
  preferred_username: 'jane',
  groups: ['dev', 'oncall'],
};

/** Published by no provider, so that all of them can have the same. */
let foreignKeys: Promise<[SigningKey, SigningKey]> | undefined;

export class TestProvider {
  readonly requests: SeenRequest[] = [];
  readonly grants = new Grants();
  readonly clientID: string;
  readonly #options: ProviderOptions;
  readonly #server: Server;
  readonly #signers: Signers;
  #published: SigningKey[];
  #misbehaviour: Misbehaviour = {};
  #port = 0;
  /** Every user who logs in is this person. */
  person: Claims = jane;
  /** Lifetime of ID tokens and access tokens. */
  tokenSeconds = 900;
  /** Receives a logout token for each user who logs out here (OpenID Connect Back-Channel Logout 1.0). */
  backchannelLogoutURL: string | undefined;
  readonly logoutAnswers: { status: number; headers: Headers; text: string }[] = [];
  /** PEM, with `tls`. */
  readonly certificateAuthority: string | undefined;

  private constructor(options: ProviderOptions, signers: Signers, certificates?: { authority: KeyPair; serving: KeyPair }) {
    this.#options = options;
    this.clientID = options.clientID ?? 'atrium';
    this.#signers = signers;
    this.#published = [signers.current];
    this.certificateAuthority = certificates?.authority.certificate;
    const listener: RequestListener = (request, response) => void this.#take(request, response);
    this.#server = certificates
      ? createSecureServer({ keepAliveTimeout, cert: certificates.serving.certificate, key: certificates.serving.key }, listener)
      : createServer({ keepAliveTimeout }, listener);
  }

  static async start(options: ProviderOptions = {}): Promise<TestProvider> {
    foreignKeys ??= Promise.all([createSigningKey('RS256'), createSigningKey('ES256')]);
    const [current, [unpublishedRSA, unpublishedEC]] = await Promise.all([createSigningKey('RS256'), foreignKeys]);
    const signers = { current, unpublishedRSA, unpublishedEC, clientSecret: options.clientSecret ?? 'no-secret' };
    const provider = new TestProvider(options, signers, options.tls ? await providerCertificates() : undefined);
    await provider.resume();
    return provider;
  }

  get origin(): string {
    return `${this.#options.tls ? 'https' : 'http'}://${this.#host}:${this.#port}`;
  }

  get issuer(): string {
    return `${this.origin}${path}`;
  }

  get clientSecret(): string | undefined {
    return this.#options.clientSecret;
  }

  /** The public keys that it signs with or has signed with. */
  get keys(): readonly SigningKey[] {
    return this.#published;
  }

  /** Replaces the previous behaviour. Without an argument, the provider is correct. */
  misbehave(misbehaviour: Misbehaviour = {}): void {
    this.#misbehaviour = misbehaviour;
  }

  /** Makes the next logins those of that user, by default a new one, with all other claims as before. */
  become(name: string = randomUUID(), claims: Claims = {}): void {
    this.person = { ...this.person, sub: name, email: `${name}@example.com`, ...claims };
  }

  hits(endpoint: SeenRequest['endpoint']): number {
    return this.requests.filter((request) => request.endpoint === endpoint).length;
  }

  /**
   * Returns the tokens of that user that the client asked to revoke, whatever the answer was. Other users' requests may arrive at any time.
   */
  revocationsOf(name: string): string[] {
    const tokens = this.requests.filter(({ endpoint }) => endpoint === 'revocation').map(({ parameters }) => parameters.get('token') ?? '');
    return tokens.filter((token) => this.grants.ownerOf(token) === name);
  }

  /** Resets the counters of requests. */
  forgetRequests(): void {
    this.requests.length = 0;
  }

  /**
   * Signs with a new key; old keys stay published unless `keepsOld` is false.
   *
   * @param kid key id of the new key; default a new one
   */
  async rotateKeys({ alg = 'RS256', keepsOld = true, kid }: { alg?: Algorithm; keepsOld?: boolean; kid?: string } = {}): Promise<void> {
    const key = await createSigningKey(alg);
    this.#signers.current = kid === undefined ? key : { ...key, kid, jwk: { ...key.jwk, kid } };
    if (alg === 'ES256') this.#signers.publishedEC = this.#signers.current;
    this.#published = [this.#signers.current, ...(keepsOld ? this.#published : [])];
  }

  /** Returns an ID token for the user, as issued now, with changes. */
  idToken(...changes: TokenChange[]): string {
    return createToken({ ...this.#standardClaims(), ...this.person }, this.#signers, changes);
  }

  /** Returns a logout token for the user, as sent now, with changes; with the `sid` if the user has one. */
  logoutToken(...changes: TokenChange[]): string {
    const { iss, aud, iat } = this.#standardClaims();
    const { sub, sid } = this.person;
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const claims = { iss, aud, iat, exp: Number(iat) + 120, jti: randomUUID(), events, sub, ...(sid !== undefined && { sid }) };
    return createToken(claims, this.#signers, changes, 'logout+jwt');
  }

  /** Refuses connections, and cuts those that are open, until `resume`. */
  stop(): Promise<void> {
    return stopListening(this.#server);
  }

  /** Listens again, at the same address. */
  async resume(): Promise<void> {
    // A port that the system chooses could be given to another program while the provider is stopped.
    this.#port ||= await freePort();
    await listen(this.#server, this.#port, this.#host);
  }

  get #host(): string {
    return this.#options.host ?? '127.0.0.1';
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.origin);
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    const body = await text(request).catch(() => '');
    const seen: SeenRequest = {
      endpoint: endpoints.find((endpoint) => new URL(this.#address(endpoint)).pathname === url.pathname) ?? 'elsewhere',
      method: request.method ?? '',
      path: url.pathname,
      headers: request.headers,
      parameters: new URLSearchParams([...url.searchParams, ...new URLSearchParams(body)]),
    };
    this.requests.push(seen);
    await this.#misbehaviour.hold?.(seen);
    const told = seen.endpoint === 'elsewhere' ? undefined : this.#misbehaviour.answer?.[seen.endpoint];
    (told ?? this.#answerTo(seen))(response, seen);
  }

  #address(endpoint: Endpoint): string {
    return endpoint === 'discovery' ? `${this.issuer}/.well-known/openid-configuration` : `${this.issuer}/${endpoint}`;
  }

  #answerTo(request: SeenRequest): Answer {
    switch (request.endpoint) {
      case 'discovery':
        return json(200, { ...metadataOf(this.issuer, (endpoint) => this.#address(endpoint)), ...this.#misbehaviour.metadata });
      case 'jwks': {
        const keys = this.#published.map(({ jwk }) => jwk);
        return json(200, { keys: this.#misbehaviour.jwks?.(keys) ?? keys });
      }
      case 'par':
        return this.#push(request);
      case 'authorize':
        return this.#authorize(request.parameters);
      case 'token':
        return this.#token(request);
      case 'userinfo':
        return this.#userInfo(request);
      case 'revocation':
        this.grants.revoke(request.parameters.get('token') ?? '');
        return json(200, {});
      case 'end_session':
        return (response, seen) =>
          void this.#tellClient().then(() => afterLogout(request.parameters, this.#misbehaviour.response)(response, seen));
      case 'elsewhere':
        return json(404, {});
    }
  }

  #push(request: SeenRequest): Answer {
    if (!this.#isOurClient(request)) return oauthError(401, 'invalid_client');
    return json(201, { request_uri: this.grants.pushRequest(request.parameters), expires_in: 60 });
  }

  /** Returns the parameters of an authorization request, from the browser or pushed by the client. */
  #askedFor(given: URLSearchParams): URLSearchParams | undefined {
    const pushed = given.get('client_id') === this.clientID ? this.grants.takeRequest(given.get('request_uri') ?? '') : undefined;
    return this.#misbehaviour.metadata?.require_pushed_authorization_requests === true ? pushed : (pushed ?? given);
  }

  #authorize(given: URLSearchParams): Answer {
    const asked = this.#askedFor(given);
    if (asked === undefined) return oauthError(400, 'invalid_request');
    const target = new URL(asked.get('redirect_uri') ?? '');
    const types = (asked.get('response_type') ?? '').split(' ');
    const nonce = asked.get('nonce') ?? undefined;
    const grant = { person: this.person, scope: asked.get('scope') ?? '', nonce };
    const code = types.includes('code')
      ? this.grants.issueCode({ ...grant, redirectURI: target.href, challenge: asked.get('code_challenge') ?? undefined })
      : undefined;
    const hashes = code === undefined ? {} : { c_hash: halfHash(code) };
    const { idToken = {}, frontChannel = {}, metadata = {}, response = {} } = this.#misbehaviour;
    const parameters = {
      ...(code !== undefined && { code }),
      ...(types.includes('id_token') && { id_token: this.#issueIDToken(grant, hashes, [idToken, frontChannel]) }),
      state: asked.get('state') ?? undefined,
      ...(metadata.authorization_response_iss_parameter_supported === true && { iss: this.issuer }),
      ...response,
    };
    return backToClient(target, parameters, types.includes('id_token') ? 'hash' : 'search');
  }

  #token(request: SeenRequest): Answer {
    const { parameters } = request;
    if (!this.#isOurClient(request)) return oauthError(401, 'invalid_client');
    const { idToken = {}, redeemed = {}, refreshed = {}, keepsRefreshTokens = false } = this.#misbehaviour;
    if (parameters.get('grant_type') === 'authorization_code') {
      const proof = { redirectURI: parameters.get('redirect_uri'), verifier: parameters.get('code_verifier') };
      const grant = this.grants.redeem(parameters.get('code') ?? '', proof);
      return grant ? this.#tokens(grant, this.#newRefreshToken(grant), [idToken, redeemed]) : oauthError(400, 'invalid_grant');
    }
    const old = parameters.get('refresh_token') ?? '';
    const grant = this.grants.refresh(old, keepsRefreshTokens);
    if (!grant) return oauthError(400, 'invalid_grant');
    const changes = refreshed === 'absent' ? undefined : [idToken, refreshed];
    // A token that comes with a refresh carries the nonce of the login, or none (OpenID Connect Core 12.2).
    return this.#tokens({ ...grant, nonce: undefined }, keepsRefreshTokens ? undefined : this.#newRefreshToken(grant), changes);
  }

  #isOurClient(request: SeenRequest): boolean {
    return isClient(request, { id: this.clientID, secret: this.clientSecret, way: this.#misbehaviour.clientSecret });
  }

  #newRefreshToken(grant: Grant): string | undefined {
    return grant.scope.split(' ').includes('offline_access')
      ? this.grants.issueRefreshToken(grant, this.#misbehaviour.oneRefreshTokenEach)
      : undefined;
  }

  #tokens(grant: Grant, refreshToken: string | undefined, changes: readonly TokenChange[] | undefined): Answer {
    const accessToken = this.grants.rememberAccessToken(grant, this.#accessToken(grant));
    return json(200, {
      token_type: 'Bearer',
      access_token: accessToken,
      expires_in: this.tokenSeconds,
      scope: grant.scope,
      ...(refreshToken !== undefined && { refresh_token: refreshToken }),
      ...(changes && { id_token: this.#issueIDToken(grant, { at_hash: halfHash(accessToken) }, changes) }),
      ...this.#misbehaviour.tokenAnswer,
    });
  }

  #accessToken({ person, scope }: Grant): string | undefined {
    const { accessTokenAudience: aud } = this.#misbehaviour;
    if (aud === undefined) return undefined;
    const claims = { ...this.#standardClaims(), ...person, aud, client_id: this.clientID, scope };
    return createToken(claims, this.#signers, [], 'at+jwt');
  }

  #issueIDToken({ person, nonce }: Grant, hashes: Claims, changes: readonly TokenChange[]): string {
    const about = this.#misbehaviour.claimsOnlyAtUserInfo ? { sub: person.sub } : person;
    const claims = { ...this.#standardClaims(), ...about, ...(nonce !== undefined && { nonce }), ...hashes };
    return createToken(claims, this.#signers, changes);
  }

  #standardClaims(): Claims {
    const iat = Math.floor((this.#options.now?.() ?? new Date()).getTime() / 1000);
    return { iss: this.issuer, aud: this.clientID, iat, exp: iat + this.tokenSeconds };
  }

  #userInfo({ headers }: SeenRequest): Answer {
    const grant = this.grants.whose(/^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '');
    if (!grant) return json(401, {}, { 'www-authenticate': 'Bearer error="invalid_token"' });
    const claims = { ...grant.person, ...this.#misbehaviour.userInfo };
    if (!this.#misbehaviour.signsUserInfo) return json(200, claims);
    const token = createToken({ ...claims, iss: this.issuer, aud: this.clientID }, this.#signers, []);
    return (response) => response.writeHead(200, { 'content-type': 'application/jwt' }).end(token);
  }

  async #tellClient(): Promise<void> {
    if (this.backchannelLogoutURL === undefined) return;
    const { logoutToken = {} } = this.#misbehaviour;
    this.logoutAnswers.push(await sendLogoutToken(this.backchannelLogoutURL, this.logoutToken(logoutToken)));
  }
}
