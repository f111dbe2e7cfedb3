/** Address on this machine to which the browser brings the code (RFC 8252, 7.3). */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { deferred } from './deferred.ts';
import type { CodeFlow } from './issuer.ts';
import { CommandError } from './terminal.ts';
import type { Tokens } from './tokens.ts';

const host = '127.0.0.1';

const nothingHere = 'Page not found. Continue in the terminal.';

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

/**
 * Listens until a browser has brought the response of the issuer. The address that starts the login has a random path. The first browser
 * that opens it receives a cookie, without which no response is accepted. Neither a user who reads the arguments of processes nor a page
 * that guesses the port can therefore bring a login of their own.
 */
export class Loopback {
  readonly #server: Server;
  readonly #origin: string;
  readonly #startPath = `/${randomBytes(16).toString('base64url')}`;
  readonly #cookie = randomBytes(16).toString('base64url');
  readonly #result = deferred<Tokens>();
  #flow: CodeFlow | undefined;
  #isStarted = false;
  #isCalledBack = false;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#origin = `http://${host}:${port}`;
    this.#result.promise.catch(() => undefined);
    server.on('request', (request, response) => {
      // The promise reports why the login fails; failures of other requests do not matter.
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  /** @throws CommandError if every port is taken */
  static async listen(ports: readonly number[]): Promise<Loopback> {
    for (const wanted of ports) {
      const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000, maxHeaderSize: 16_384 });
      try {
        server.listen(wanted, host);
        await once(server, 'listening');
        const address = server.address();
        if (address !== null && typeof address === 'object') return new Loopback(server, address.port);
      } catch {
        server.close();
      }
    }
    throw new CommandError(`cannot listen on ${host}: ${ports.join(', ')} is taken`);
  }

  get redirectURL(): string {
    return `${this.#origin}/callback`;
  }

  /** Address that the browser opens. */
  get startURL(): string {
    return `${this.#origin}${this.#startPath}`;
  }

  /** Returns the tokens of the user who logs in. @throws errors of redeeming the code, or the reason of the signal */
  async tokens(flow: CodeFlow, signal: AbortSignal): Promise<Tokens> {
    this.#flow = flow;
    const abort = () => this.#result.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      if (signal.aborted) abort();
      return await this.#result.promise;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  close(): void {
    this.#server.close();
    // Sent answers arrive anyway, and idle connections are not waited for.
    this.#server.closeIdleConnections();
    this.#server.unref();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const flow = this.#flow;
    const url = URL.parse(request.url ?? '', this.#origin);
    // A foreign page may have a host name that resolves to this machine (DNS rebinding).
    const isForUs = request.method === 'GET' && `http://${request.headers.host}` === this.#origin;
    if (!isForUs || url === null || flow === undefined) return send(response, 404, nothingHere);
    if (isSame(url.pathname, this.#startPath)) return this.#start(request, response, flow);
    const isCallback = url.pathname === '/callback' && this.#hasCookie(request) && isSame(url.searchParams.get('state') ?? '', flow.state);
    if (!isCallback || this.#isCalledBack) return send(response, 404, nothingHere);
    this.#isCalledBack = true;
    try {
      const tokens = await flow.redeem(url);
      await send(response, 200, 'You are logged in. This window can be closed.');
      this.#result.resolve(tokens);
    } catch (error) {
      await send(response, 400, 'The login failed. The terminal shows the reason.');
      this.#result.reject(error);
    }
  }

  async #start(request: IncomingMessage, response: ServerResponse, { url }: CodeFlow): Promise<void> {
    if (this.#isStarted && !this.#hasCookie(request)) return send(response, 404, 'This address was opened before. Run the command again.');
    this.#isStarted = true;
    const cookie = `${this.#cookieName}=${this.#cookie}; HttpOnly; SameSite=Lax; Path=/callback`;
    response.writeHead(302, { ...headers, 'set-cookie': [cookie, cookie.replace('/callback', this.#startPath)], location: url.href });
    response.end();
    await once(response, 'close');
  }

  /** Cookies are shared by all ports of a host. */
  get #cookieName(): string {
    return `atrium-log-in-${new URL(this.#origin).port}`;
  }

  #hasCookie({ headers: { cookie = '' } }: IncomingMessage): boolean {
    return cookie.split('; ').some((pair) => isSame(pair, `${this.#cookieName}=${this.#cookie}`));
  }
}

/** Resolves when the other side has received it. */
async function send(response: ServerResponse, status: number, text: string): Promise<void> {
  response.writeHead(status, headers);
  response.end(`<!doctype html><html lang="en"><title>Atrium</title><p>${text}</p></html>\n`);
  await once(response, 'close');
}

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1'));
