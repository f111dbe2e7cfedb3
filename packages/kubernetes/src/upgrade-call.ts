import { type ClientRequest, type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import type { Socket } from 'node:net';
import type { TlsOptions } from './connection.ts';
import { abortable } from './deadline.ts';
import type { UpstreamResponse } from './transport.ts';

export interface UpgradeCall {
  /** Origin of the API server. */
  origin: URL;
  tls: TlsOptions;
  method: string;
  /** Path with its query, sent unchanged. */
  path: string;
  headers: Record<string, string | string[]>;
  /** Value of `Upgrade` in lower case. */
  protocol: string;
  signal: AbortSignal;
}

/** Result of the request: a connection in that protocol, or an ordinary answer. */
export type UpgradeAnswer =
  | { socket: Socket; head: Buffer; headers: UpstreamResponse['headers'] }
  | { socket: undefined; statusCode: number; headers: UpstreamResponse['headers']; body: IncomingMessage };

/**
 * Requests another protocol from the API server, on a new connection. Uses the client of Node.js, because undici drops the Status of a
 * refusal.
 *
 * @throws Error if there is no answer, or the connection is in another protocol
 */
export async function callUpgrade(call: UpgradeCall): Promise<UpgradeAnswer> {
  const { origin, tls, method, path, headers, protocol, signal } = call;
  const request = (origin.protocol === 'https:' ? overHttps : overHttp)({
    ...tls,
    host: origin.hostname.replace(/^\[|\]$/g, ''),
    port: origin.port || undefined,
    method,
    path,
    headers: { ...headers, connection: 'Upgrade', upgrade: protocol },
    agent: false,
  });
  const answer = answerTo(request, protocol);
  request.end();
  try {
    return await abortable(answer, signal);
  } catch (error) {
    request.destroy();
    answer.then(discard, () => undefined);
    throw error;
  }
}

function discard(answer: UpgradeAnswer): void {
  if (answer.socket === undefined) answer.body.destroy();
  else answer.socket.destroy();
}

const answerTo = (request: ClientRequest, protocol: string) =>
  new Promise<UpgradeAnswer>((resolve, reject) => {
    request.on('error', reject);
    request.once('response', (response) => {
      // The reader of the body receives the error, too.
      response.on('error', () => undefined);
      resolve({ socket: undefined, statusCode: response.statusCode ?? 0, headers: response.headers, body: response });
    });
    request.once('upgrade', (response, socket: Socket, head) => {
      socket.on('error', () => socket.destroy());
      if (response.headers.upgrade?.toLowerCase() === protocol) return resolve({ socket, head, headers: response.headers });
      socket.destroy();
      reject(new Error('the connection went on in another protocol'));
    });
  });
