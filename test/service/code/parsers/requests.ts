/** Requests without a network, so that only the service is measured. */
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { tokensOnly } from '@atrium/http/authenticator.ts';
import { ClientAddresses } from '@atrium/http/client-address.ts';
import { requestChain } from '@atrium/http/request-listener.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { upgradeListener } from '@atrium/http/upgrade.ts';
import { unauthorized } from '@atrium/objects/status.ts';
import Koa, { type Context } from 'koa';
import { app } from './operations.ts';

interface Sent {
  url?: string;
  headers?: Readonly<Record<string, string>>;
}

function requestOf({ url = '/', headers = {} }: Sent): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  const all = { host: 'localhost', ...headers };
  Object.assign(request, { method: 'GET', url, headers: all, rawHeaders: Object.entries(all).flat(), httpVersion: '1.1', complete: true });
  return request;
}

const koa = new Koa();

export function contextOf(sent: Sent): Context {
  const request = requestOf(sent);
  return koa.createContext(request, new ServerResponse(request)) as Context;
}

const log = createLog({ level: 'info', format: 'json' }, { write: () => undefined });
const { listener } = requestChain({
  basePath: '',
  addresses: new ClientAddresses(['10.0.0.0/8'], log),
  requestTimeoutMs: 60_000,
  maxInFlight: 100,
  log,
  metrics: new Metrics(),
  isStopping: () => false,
  operations: app.operations.filter(({ credential, id }) => credential === 'required' || id === 'OpenApi'),
  authenticator: tokensOnly(async () => {
    throw unauthorized({ tokenGiven: true });
  }),
  bodyLimit: 1024,
  corsOrigins: ['https://console.example.com'],
});

/** Returns a stream that accepts writes and is never readable. */
const sink = () => new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });

export async function sendThroughFrame(sent: Sent): Promise<void> {
  const request = requestOf(sent);
  const response = new ServerResponse(request);
  response.assignSocket(sink() as Socket);
  const finished = once(response, 'finish');
  listener(request, response);
  await finished;
  response.emit('close');
}

/** Reads the bearer token from the sub-protocols of a WebSocket. */
export function takesUpgrade(protocols: string): void {
  upgradeListener(() => undefined)(
    requestOf({ headers: { upgrade: 'websocket', 'sec-websocket-protocol': protocols } }),
    new Socket(),
    Buffer.alloc(0),
  );
}
