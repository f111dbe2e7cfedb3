import { createServer, type Server, type ServerResponse } from 'node:http';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { freePort } from '../../support/free-port.ts';
import { listen, stopListening } from '../../support/listening.ts';

/** An OpenID provider as far as an API server sees one: discovery, keys and tokens. */
export class AnIssuer {
  readonly requests: string[] = [];
  readonly #server: Server;
  #port = 0;
  #signing: { key: CryptoKey; kid: string; alg: string } | undefined;
  /** What the key address answers. */
  keys: JWK[] = [];
  /** What discovery claims as its issuer; default the truth. */
  claimedIssuer: string | undefined;

  constructor() {
    this.#server = createServer((request, response) => this.#answer(request.url ?? '', response));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/realm`;
  }

  /** A port that stays the same over a stop. */
  async start(): Promise<this> {
    this.#port = await listen(this.#server, this.#port || (await freePort()));
    if (this.#signing === undefined) await this.rotate();
    return this;
  }

  stop(): Promise<void> {
    return stopListening(this.#server);
  }

  /** Signs with a new key from now on, which is published beside the old ones. */
  async rotate(alg = 'RS256'): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const kid = `key-${this.keys.length + 1}`;
    this.#signing = { key: privateKey, kid, alg };
    this.keys = [...this.keys, { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }];
  }

  /** An ID token for `atrium` of one hour; `undefined` leaves a claim out. */
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
