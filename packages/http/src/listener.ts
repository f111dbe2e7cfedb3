import { readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { badRequest, headersTooLarge, type StatusError, timedOut } from '@atrium/objects/status.ts';
import { Pipelines } from './pipelines.ts';
import { upgradeListener } from './upgrade.ts';

export interface ListenerOptions {
  host: string;
  port: number;
  /** Milliseconds in which a client must send a whole request. */
  requestTimeoutMs: number;
  tls?: { certFile: string; keyFile: string } | undefined;
  /** Selects the requests whose `Upgrade` is accepted. Default: none. */
  offersUpgrade?: (request: IncomingMessage) => boolean;
}

/** Includes the credential, which may be an ID token of a user in a thousand groups. `middleware/request-head.ts` bounds the rest. */
const maxHeaderBytes = 64 * 1024;
const certificateCheckMs = 60_000;
const lingerMs = 1_000;
/**
 * Connections that the kernel takes while the process is busy. The kernel lowers it to `net.core.somaxconn`. A connection beyond it waits
 * for a second, after which its client tries again.
 */
const backlog = 4_096;

/** Every address of the machine: a socket of Node.js on it also accepts IPv4. */
const anyAddress = '::';
const anyIPv4Address = '0.0.0.0';
/** Error codes of a machine whose kernel has no IPv6, or has no address for it. */
const withoutIPv6 = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL']);

/** A listening port with limits against slow and malformed senders, and an orderly shutdown. */
export class Listener {
  readonly #server: Server;
  readonly #options: ListenerOptions;
  /** All connections, also those that Node's HTTP server does not count: in a TLS handshake, or upgraded. */
  readonly #sockets = new Set<Socket>();
  #certificateCheck: NodeJS.Timeout | undefined;
  /** Certificate in use, in PEM. Undefined without TLS. */
  certificate: Buffer | undefined;

  constructor(handle: RequestListener, options: ListenerOptions) {
    this.#options = options;
    const pipelines = new Pipelines(handle, answerClientError);
    const offersUpgrade = options.offersUpgrade ?? (() => false);
    const limits: ServerOptions = {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: Math.min(15_000, options.requestTimeoutMs),
      requestTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: 2_000,
      // Longer than the 60 s for which common proxies keep a connection, so that the proxy closes it.
      keepAliveTimeout: 75_000,
      insecureHTTPParser: false,
      // `middleware/request-head.ts` answers a request without Host, or with two, by a Status.
      requireHostHeader: false,
      // Node.js hands the connection over at once, also while an answer to an earlier request is being sent.
      shouldUpgradeCallback: (request) => pipelines.isIdle(request.socket) && offersUpgrade(request),
    };
    const pair = options.tls && readCertificate(options.tls);
    this.certificate = pair?.cert;
    this.#server = pair ? createTlsServer({ ...limits, ...pair }, pipelines.handle) : createServer(limits, pipelines.handle);
    this.#server.maxHeadersCount = 0;
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('clientError', pipelines.fail);
    if (options.offersUpgrade) this.#server.on('upgrade', upgradeListener(handle));
    this.#server.on('checkContinue', (request, response) => {
      onFirstRead(request, () => {
        if (!response.headersSent) response.writeContinue();
      });
      pipelines.handle(request, response);
    });
    // An expectation that is not known may be ignored (RFC 9110, 10.1.1).
    this.#server.on('checkExpectation', pipelines.handle);
  }

  /** @returns the port, which differs from the configured one when that was 0 */
  async start(): Promise<number> {
    const { host } = this.#options;
    await this.#listen(host).catch((error: NodeJS.ErrnoException) => {
      if (host !== anyAddress || !withoutIPv6.has(error.code ?? '')) throw error;
      return this.#listen(anyIPv4Address);
    });
    if (this.#options.tls) this.#certificateCheck = this.#watchCertificate(this.#options.tls);
    return (this.#server.address() as AddressInfo).port;
  }

  #listen(host: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ port: this.#options.port, host, backlog }, () => resolve());
    });
  }

  /** Reloads the certificate when its files change. A pair that cannot be read, or does not match, leaves the old one in place. */
  #watchCertificate(files: { certFile: string; keyFile: string }): NodeJS.Timeout {
    const stamp = () => [files.certFile, files.keyFile].map((file) => statSync(file).mtimeMs).join();
    let seen = stamp();
    const check = () => {
      try {
        const now = stamp();
        if (now === seen) return;
        const pair = readCertificate(files);
        if (this.#server instanceof TlsServer) this.#server.setSecureContext(pair);
        this.certificate = pair.cert;
        seen = now;
      } catch {
        // Half a rotation: the next check sees the rest.
      }
    };
    return setInterval(check, certificateCheckMs).unref();
  }

  /**
   * Accepts no new connection, waits for open requests during the grace period, then closes all connections.
   *
   * @returns the number of connections that were cut at the end of the grace period
   */
  async stop(graceMs: number): Promise<number> {
    clearInterval(this.#certificateCheck);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // Connections that become idle later are not closed by `close()` itself.
    const idle = setInterval(() => this.#server.closeIdleConnections(), 50);
    let cutConnections = 0;
    const cut = setTimeout(() => {
      cutConnections = this.#sockets.size;
      for (const socket of this.#sockets) socket.destroy();
    }, graceMs);
    await closed;
    clearInterval(idle);
    clearTimeout(cut);
    return cutConnections;
  }
}

/** Calls back when the body of a request is first read: until then the request may be refused, and the body need not be sent. */
function onFirstRead(request: IncomingMessage, tell: () => void): void {
  const read = request._read;
  request._read = (size) => {
    request._read = read;
    tell();
    read.call(request, size);
  };
}

const readCertificate = ({ certFile, keyFile }: { certFile: string; keyFile: string }) => ({
  cert: readFileSync(certFile),
  key: readFileSync(keyFile),
});

/** Answers a malformed request with a Status and closes the connection (RFC 9112 section 11.2: the end of the message is unknown). */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  // A browser connects ahead of its next request. An answer to no request would be taken as the answer to that one, if both cross.
  const isUnused = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0;
  if (error.code === 'ECONNRESET' || !socket.writable || isUnused) {
    socket.destroy();
    return;
  }
  const { status } = failureFor(error.code);
  const body = JSON.stringify(status);
  const lines = [
    `HTTP/1.1 ${status.code} ${status.reason}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Referrer-Policy: no-referrer',
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
  // An immediate close with unread bytes would reset the connection and lose the answer.
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

function failureFor(code: string | undefined): StatusError {
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge();
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return timedOut('the request');
  return badRequest('the request is not valid HTTP/1.1');
}
