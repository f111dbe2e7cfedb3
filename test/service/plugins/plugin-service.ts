import 'reflect-metadata';
import { KeyObject, webcrypto } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { clusterNetwork, type Network } from '@atrium/http/outgoing.ts';
import * as x509 from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const oneDay = 24 * 60 * 60 * 1000;

/** A certificate authority like that of a cluster for its Services. */
export class ServiceAuthority {
  readonly #keys: webcrypto.CryptoKeyPair;
  readonly #certificate: x509.X509Certificate;

  private constructor(keys: webcrypto.CryptoKeyPair, certificate: x509.X509Certificate) {
    this.#keys = keys;
    this.#certificate = certificate;
  }

  static async create(): Promise<ServiceAuthority> {
    x509.cryptoProvider.set(webcrypto);
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      ...validity(),
      name: 'CN=services for tests',
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      ],
    });
    return new ServiceAuthority(keys, certificate);
  }

  /** PEM. */
  get certificate(): string {
    return this.#certificate.toString('pem');
  }

  /** Issues a PEM certificate and key for a host name. */
  async issue(name: string): Promise<{ cert: string; key: string }> {
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await x509.X509CertificateGenerator.create({
      ...validity(),
      subject: `CN=${name}`,
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      extensions: [
        new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      ],
    });
    return {
      cert: certificate.toString('pem'),
      key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
  }
}

const validity = () => ({
  notBefore: new Date(Date.now() - oneDay),
  notAfter: new Date(Date.now() + oneDay),
  signingAlgorithm: algorithm,
});

/** A request as the Service received it. */
export interface Received {
  method: string;
  /** Path and query. */
  url: string;
  /** Headers with their values, with names in lower case. */
  headers: Record<string, string>;
  body: string;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** An https server in place of a Service: it answers as the test says, and records the requests. */
export class PluginService {
  /** Complete requests, except those for the manifest, which the service reads at any time. */
  readonly received: Received[] = [];
  /** Number of TCP connections so far. */
  connections = 0;
  /** Replaces the echo of the request. */
  handle: Handler | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { handle } = this;
      request.on('error', () => undefined);
      response.on('error', () => undefined);
      if (handle) handle(request, response);
      else this.#echo(request, response).catch(() => response.destroy());
    });
  }

  static async start(certificate: { cert: string; key: string }): Promise<PluginService> {
    const server = createServer({ ...certificate, keepAliveTimeout: 60_000 });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PluginService(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  async stop(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  async #echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url = '', headers } = request;
    const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    if (!url.endsWith('/plugin-manifest.json')) this.received.push({ method, url, headers: texts, body: Buffer.concat(chunks).toString() });
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ path: url }));
  }
}

/** Resolves Services to this machine, whatever their names are; other names resolve as the test says. */
export const loopbackNetwork = (names: Readonly<Record<string, readonly string[]>> = {}): Network => ({
  resolve: async (hostname) => names[hostname] ?? ['127.0.0.1'],
  isRefused: (address) => address !== '127.0.0.1' && clusterNetwork.isRefused(address),
});
