import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../support/cluster-admin.ts';

export interface Taken {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly text: string;
  readonly body: {
    type: string;
    timestamp: string;
    data: Record<string, unknown> & { request: { name: string; uid: string; url?: string } };
  };
}

type Behaviour = (response: ServerResponse, request: IncomingMessage) => void;

/** Behaviours of receivers. */
export const takes: Behaviour = (response) => response.writeHead(204).end();
export const refuses: Behaviour = (response) => response.writeHead(500).end('canary-of-the-receiver');
export const redirectsTo =
  (url: string): Behaviour =>
  (response) =>
    response.writeHead(307, { location: url }).end();

/** Receiver of webhooks on this machine, with a secret in a file. */
export class WebhookReceiver {
  readonly taken: Taken[] = [];
  behave: Behaviour = takes;
  /** Bytes of answers that were written before the service closed the connection. */
  bytesWritten = 0;
  readonly #server: Server;
  readonly #directory: string;
  readonly #hanging: ServerResponse[] = [];
  secret: string;

  private constructor(server: Server, directory: string, secret: string) {
    this.#server = server;
    this.#directory = directory;
    this.secret = secret;
  }

  static async start(): Promise<WebhookReceiver> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const receiver = new WebhookReceiver(server, await mkdtemp(join(tmpdir(), 'atrium-webhook-')), newSecret());
    await receiver.writeSecrets(receiver.secret);
    server.on('request', (request, response) => void receiver.#take(request, response));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook?token=canary-of-the-url`;
  }

  get secretFile(): string {
    return join(this.#directory, 'secret');
  }

  writeSecrets(...secrets: readonly string[]): Promise<void> {
    return writeFile(this.secretFile, `${secrets.join('\n')}\n`);
  }

  /** Waits for the events of a request, of one type. */
  of(name: string, type: string): readonly Taken[] {
    return this.taken.filter(({ body }) => body.type === type && body.data.request.name === name);
  }

  async until(name: string, type: string, count = 1): Promise<Taken> {
    const all = await eventually(
      async () => this.of(name, type),
      ({ length }) => length >= count,
    );
    const last = all[count - 1];
    if (last === undefined) throw new Error('no event');
    return last;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Does not answer until the release. */
  readonly hangs: Behaviour = (response) => this.#hanging.push(response);

  release(): void {
    for (const response of this.#hanging.splice(0)) takes(response, response.req);
  }

  /** Writes an answer of 1 GiB until the connection is closed. */
  readonly floods: Behaviour = (response) => {
    const chunk = Buffer.alloc(64 * 1024);
    let left = 16_384;
    response.writeHead(200);
    const write = () => {
      while (left > 0 && !response.destroyed) {
        left -= 1;
        this.bytesWritten += chunk.length;
        if (!response.write(chunk)) {
          response.once('drain', write);
          return;
        }
      }
    };
    response.on('error', () => undefined);
    write();
  };

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const header = (name: string) => String(request.headers[name]);
    this.taken.push({
      id: header('webhook-id'),
      timestamp: header('webhook-timestamp'),
      signature: header('webhook-signature'),
      text,
      body: JSON.parse(text),
    });
    this.behave(response, request);
  }
}

export const newSecret = (bytes = 32): string => `whsec_${randomBytes(bytes).toString('base64')}`;

/** Returns the signature of Standard Webhooks 1.0 that a receiver expects. */
export const signatureOf = ({ id, timestamp, text }: Taken, secret: string): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'))
    .update(`${id}.${timestamp}.${text}`)
    .digest('base64')}`;
