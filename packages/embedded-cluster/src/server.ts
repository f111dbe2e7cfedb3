/** HTTPS listener: each request is authenticated, authorized and then answered, in the order of the API server. */
import { type IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { badRequest, internalError, StatusError } from '@atrium/objects/status.ts';
import { type WebSocket, WebSocketServer } from 'ws';
import { authenticate, forbiddenAccess, impersonate } from './authentication.ts';
import type { Authority } from './certificates.ts';
import { sendJson } from './exchange.ts';
import { answerPath } from './path-answers.ts';
import { attributesOf, requestInfo } from './request-info.ts';
import { answerResource, streamResource } from './resource-verbs.ts';
import type { Backend, Exchange } from './resources.ts';

/** Impersonation sends each group in a header of its own, and kube-apiserver accepts any number of headers. */
const maximumHeaderBytes = 1024 * 1024;
const requestTimeoutMs = 60_000;
/** Idle timeout of kube-apiserver. Clients close idle connections much earlier, so that none sends a request at the moment of closing. */
const keepAliveMs = 90_000;
/** Size up to which the rest of a body is read and dropped, as in Go's server, so that the next request uses the same connection. */
const maxDroppedBytes = 256 * 1024;

/** Longest message of a client over a WebSocket. */
const maxFrameBytes = 1024 * 1024;

export interface ServerOptions {
  host: string;
  port: number;
  certificate: Authority;
  /** Authority of accepted client certificates (PEM). */
  clientAuthority: string;
  log: (message: string) => void;
}

export class ApiServer {
  readonly #server: Server;
  /** All connections, including those in the TLS handshake, which the HTTP server does not know yet. */
  readonly #sockets = new Set<Socket>();
  readonly #backend: Backend;
  readonly #log: (message: string) => void;

  private constructor(backend: Backend, { certificate, clientAuthority, log }: ServerOptions) {
    this.#backend = backend;
    this.#log = log;
    this.#server = createServer(
      {
        cert: certificate.certificate,
        key: certificate.key,
        // Client certificates are optional: most callers have a token.
        ca: clientAuthority,
        requestCert: true,
        rejectUnauthorized: false,
        maxHeaderSize: maximumHeaderBytes,
        requestTimeout: requestTimeoutMs,
        keepAliveTimeout: keepAliveMs,
      },
      (request, response) => void this.#handle(request, response),
    );
    this.#server.maxHeadersCount = 0;
    this.#server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head));
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(backend: Backend, options: ServerOptions): Promise<ApiServer> {
    const api = new ApiServer(backend, options);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    api.#server.once('error', reject);
    api.#server.listen(options.port, options.host, resolve);
    await promise;
    api.#server.off('error', reject);
    return api;
  }

  get port(): number {
    const address: string | AddressInfo | null = this.#server.address();
    return typeof address === 'object' && address ? address.port : 0;
  }

  /** Stops the server, and ends watches, too. */
  async stop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    for (const socket of this.#sockets) socket.destroy();
    await promise;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#answer(request, response);
    } catch (error) {
      this.#refuse({ request, response }, error);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange: Exchange = { ...(await this.#admitted(request)), request, response };
    if (exchange.info.isResource) await answerResource(exchange);
    else answerPath(exchange);
  }

  /** @throws StatusError 401 or 403 */
  async #admitted(request: IncomingMessage): Promise<Pick<Exchange, 'backend' | 'info' | 'user'>> {
    const backend = this.#backend;
    const info = requestInfo(request.method ?? 'GET', request.url ?? '/');
    const caller = await authenticate(request, backend);
    const attributes = attributesOf(info);
    const user = impersonate(request, caller, attributes, backend.rbac);
    if (!backend.rbac.authorize(user, attributes).allowed) throw forbiddenAccess(user, attributes);
    return { backend, info, user };
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    try {
      const admitted = await this.#admitted(request);
      if (request.headers.upgrade?.toLowerCase() !== 'websocket') throw badRequest('only WebSockets are served: SPDY is not');
      await streamResource({ ...admitted, accept: (protocols) => accepted({ request, socket, head }, protocols) });
    } catch (error) {
      const response = new ServerResponse(request);
      response.assignSocket(socket as Socket);
      response.on('finish', () => socket.end());
      this.#refuse({ request, response }, error);
    }
  }

  #refuse({ request, response }: Pick<Exchange, 'request' | 'response'>, error: unknown): void {
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    if (!(error instanceof StatusError)) this.#log(`${request.method} failed: ${error instanceof Error ? error.stack : String(error)}`);
    const answer = error instanceof StatusError ? error : internalError();
    for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
    if (!request.complete && !isShort(request)) response.setHeader('Connection', 'close');
    sendJson({ request, response }, answer.status.code, answer.status);
  }
}

const isShort = ({ headers }: IncomingMessage) => Number(headers['content-length']) <= maxDroppedBytes;

/** Upgrades the connection. @throws StatusError 400 if the client offers other protocols only */
function accepted({ request, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer }, protocols: readonly string[]) {
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  const chosen = protocols.find((protocol) => offered.includes(protocol));
  if (chosen === undefined) throw badRequest(`the client must offer one of the protocols ${protocols.filter(Boolean).join(', ')}`);
  const server = new WebSocketServer({ noServer: true, maxPayload: maxFrameBytes, handleProtocols: () => chosen || false });
  return new Promise<WebSocket>((resolve) => server.handleUpgrade(request, socket, head, resolve));
}
