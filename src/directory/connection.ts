import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTLS, TLSSocket } from 'node:tls';
import { Client, ResultCodeError } from 'ldapts';
import type { Config } from '../config/schema.ts';

/** Reason for which a directory cannot be used. */
export type DirectoryFailure = 'NotConfigured' | 'Unreachable' | 'BindRefused' | 'Incomplete';

/** A directory cannot be used. The message is for callers who may synchronise: it has no secret, and no text of server or system. */
export class DirectoryError extends Error {
  override readonly name = 'DirectoryError';
  readonly reason: DirectoryFailure;

  constructor(reason: DirectoryFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Returns a reason without foreign text: messages of the library and the system have addresses, messages of the server have any text. */
export function reasonOf(error: unknown): string {
  if (error instanceof ResultCodeError) return `LDAP result ${error.code}`;
  if (error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[A-Z_0-9]+$/.test(error.code)) return error.code;
  if (error instanceof Error && ['TimeoutError', 'AbortError'].includes(error.name)) return 'timed out';
  return 'the connection broke off';
}

export type Connector = Config['users']['ldap'][number];

const connectTimeoutMs = 5_000;
const operationTimeoutMs = 30_000;
const startTLS = '1.3.6.1.4.1.1466.20037';

/**
 * A client on one connection with the configured security. The library would reconnect in plain text and anonymously after a broken
 * connection; this client fails instead. The TLS handshake completes before the library gets the socket: no request goes to a server whose
 * certificate was not verified, and no plain text from before StartTLS is read as an answer (RFC 4511 4.14).
 */
export class Connection {
  readonly client: Client;
  readonly #socket: Socket;
  readonly #signal: AbortSignal;
  readonly #cut = () => this.#socket.destroy();

  private constructor(socket: Socket, client: Client, signal: AbortSignal) {
    this.#socket = socket;
    this.client = client;
    this.#signal = signal;
    signal.addEventListener('abort', this.#cut);
  }

  /** @param signal closes the connection when it aborts; @throws DirectoryError NotConfigured, Unreachable */
  static async open({ url, caFile, startTLS: startsTLS }: Connector, signal: AbortSignal): Promise<Connection> {
    const { protocol, hostname, port } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, '') || 'localhost';
    const isSecure = protocol === 'ldaps:';
    const address = { host, port: Number(port) || (isSecure ? 636 : 389) };
    const tls: ConnectionOptions = {
      host,
      minVersion: 'TLSv1.2',
      ...(isIP(host) === 0 && { servername: host }),
      ...(caFile !== undefined && { ca: await authority(caFile) }),
    };
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]);
    let socket: Socket | undefined;
    try {
      socket = isSecure ? connectTLS({ ...tls, ...address }) : connect(address);
      await ready(socket, isSecure ? 'secureConnect' : 'connect', deadline);
      if (startsTLS && !isSecure) {
        await askForTLS(socket);
        socket = connectTLS({ ...tls, socket });
        await ready(socket, 'secureConnect', deadline);
      }
    } catch (error) {
      socket?.destroy();
      throw new DirectoryError('Unreachable', `the directory is out of reach: ${reasonOf(error)}`, { cause: error });
    }
    return new Connection(socket, clientOn(socket), signal);
  }

  async close(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#cut);
    await this.client.unbind().catch(() => undefined);
    this.#socket.destroy();
  }
}

async function authority(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new DirectoryError('NotConfigured', 'caFile cannot be read', { cause: error });
  }
}

async function ready(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  // Covers the time before and after the library listens: an `error` event without a listener ends the process.
  socket.on('error', () => undefined);
  await once(socket, event, { signal });
}

/** @throws the error of the library if the server refuses; the connection must then not be used in plain text */
async function askForTLS(socket: Socket): Promise<void> {
  await clientOn(socket).exop(startTLS);
  // Without the library's listener, further plain text is discarded.
  socket.removeAllListeners('data');
}

/** The library reads only the scheme of the URL, to select the socket factory; the socket is connected already. */
const clientOn = (socket: Socket): Client =>
  socket instanceof TLSSocket
    ? new Client({ url: 'ldaps://directory', timeout: operationTimeoutMs, createSecureConnection: onlyOnce(socket) })
    : new Client({ url: 'ldap://directory', timeout: operationTimeoutMs, createConnection: onlyOnce(socket) });

function onlyOnce<S>(socket: S): () => S {
  let isTaken = false;
  return () => {
    if (isTaken) throw new Error('the connection is over');
    isTaken = true;
    return socket;
  };
}
