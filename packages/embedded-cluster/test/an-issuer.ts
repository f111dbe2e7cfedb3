import { createServer, type Server, type ServerResponse } from 'node:http';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { freePort } from '../../../test/support/free-port.ts';
import { listen, stopListening } from '../../../test/support/listening.ts';

/** An OpenID provider with the parts that an API server uses: discovery, keys and tokens. */
export class AnIssuer {
  readonly requests: string[] = [];
  readonly #server: Server;
  #port = 0;
  #signing: { key: CryptoKey; kid: string; alg: string } | undefined;
  /** Keys that the JWKS endpoint publishes. */
  keys: JWK[] = [];
  /** Issuer in the discovery document. Default: the real one. */
  claimedIssuer: string | undefined;

  constructor() {
    this.#server = createServer((request, response) => this.#answer(request.url ?? '', response));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/realm`;
  }

  /** Starts the provider. The port stays the same after a stop. */
  async start(): Promise<this> {
    this.#port = await listen(this.#server, this.#port || (await freePort()));
    if (this.#signing === undefined) await this.rotate();
    return this;
  }

  stop(): Promise<void> {
    return stopListening(this.#server);
  }

  /** Signs with a new key from now on; old keys stay published. */
  async rotate(alg = 'RS256'): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${this.keys.length + 1}`;
    this.#signing = { key: privateKey, kid, alg };
    this.keys = [...this.keys, { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }];
  }

  /** Returns an ID token for `atrium` that is valid for an hour; `undefined` removes a claim. */
  async token(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}): Promise<string> {
    if (this.#signing === undefined) throw new Error('not started');
    const { key, kid, alg } = this.#signing;
    const now = Math.floor(Date.now() / 1000);
    const all: JWTPayload = { iss: this.url, aud: 'atrium', sub: 's-1', email: 'jane@example.com', iat: now, exp: now + 3600, ...claims };
    return new SignJWT(all).setProtectedHeader({ alg, kid, ...header }).sign(key);
  }

  #answer(path: string, response: ServerResponse): void {
    this.requests.push(path);
    const body =
      path === '/realm/.well-known/openid-configuration'
        ? { issuer: this.claimedIssuer ?? this.url, jwks_uri: `${this.url}/keys` }
        : path === '/realm/keys'
          ? { keys: this.keys }
          : undefined;
    response.writeHead(body ? 200 : 404, { 'Content-Type': 'application/json' }).end(JSON.stringify(body ?? {}));
  }
}
