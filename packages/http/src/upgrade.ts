/** Requests that switch to another protocol (RFC 9110, 7.8), if an operation offers it. */
import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { hasBody } from './body.ts';
import type { Operation, UpgradeProtocol } from './operation.ts';

export interface Upgrade {
  readonly protocol: UpgradeProtocol;
  readonly socket: Socket;
  /** Bytes that the caller has sent behind the request. */
  readonly head: Buffer;
}

const upgradeKey = Symbol('upgrade');
type MaybeUpgrade = IncomingMessage & { [upgradeKey]?: Upgrade };

/** Returns undefined for a request whose `Upgrade` was ignored. */
export const upgradeOf = (request: IncomingMessage): Upgrade | undefined => (request as MaybeUpgrade)[upgradeKey];

/** Returns a test for requests whose `Upgrade` an operation offers. Other requests are answered as if they had none. */
export function upgradeOffers(operations: readonly Operation[], basePath: string): (request: IncomingMessage) => boolean {
  const offers = operations.flatMap(({ method, upgrade, paths: [path] }) =>
    upgrade === undefined ? [] : [{ method, upgrade, prefix: `${basePath}${path.replace(/\{.*/s, '')}` }],
  );
  return (request) =>
    !hasBody(request) &&
    offers.some(
      ({ method, upgrade, prefix }) =>
        method === request.method && upgrade === protocolOf(request) && request.url?.startsWith(prefix) === true,
    );
}

const protocolOf = ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase();

/** Answers upgrade requests by the listener of all requests. A refusal is an ordinary answer, and closes the connection. */
export const upgradeListener = (handle: RequestListener) => (request: IncomingMessage, socket: Socket, head: Buffer) => {
  const response = new ServerResponse(request);
  const upgrade: Upgrade = { protocol: protocolOf(request) as UpgradeProtocol, socket, head };
  Object.assign(request, { [upgradeKey]: upgrade });
  takeProtocolToken(request);
  // Node has let go of the connection.
  socket.setTimeout(0);
  socket.on('error', () => socket.destroy());
  socket.on('drain', () => response.emit('drain'));
  const leave = endOnLeave(socket);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => {
    leave.off();
    if (response.statusCode !== 101) endSoon(socket);
  });
  handle(request, response);
};

const lingerMs = 1_000;
/** Bound of the time in which a slow peer reads the rest. */
const flushMs = 30_000;

/** Sends the written bytes, and waits a second for the peer to close. */
export function endSoon(socket: Duplex): void {
  const destroyAfter = (ms: number) => void setTimeout(() => socket.destroy(), ms).unref();
  socket.end(() => destroyAfter(lingerMs));
  socket.resume();
  destroyAfter(flushMs);
}

/** A disconnect is only noticed while reading. Bytes that the caller sends before the answer stay in the buffer. */
function endOnLeave(socket: Socket): { off(): void } {
  const look = () => {
    if (socket.readableLength === 0) socket.read();
  };
  const leave = () => socket.destroy();
  socket.on('readable', look).once('end', leave);
  return { off: () => void socket.off('readable', look).off('end', leave) };
}

/**
 * @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/authentication/request/websocket/protocol.go
 */
const tokenProtocol = /^base64url\.bearer\.authorization\.k8s\.io\.(.*)$/s;

/**
 * Moves a bearer token from the sub-protocols of a WebSocket into `Authorization`, because a page cannot set headers there. Two tokens, or
 * a token beside a header, make two `Authorization` headers, which are refused. The sub-protocol is never passed on: an API server would
 * accept it.
 */
function takeProtocolToken({ headers, rawHeaders }: IncomingMessage): void {
  const named = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  const tokens = named.flatMap((protocol) => tokenProtocol.exec(protocol)?.[1] ?? []);
  if (tokens.length === 0) return;
  const others = named.filter((protocol) => !tokenProtocol.test(protocol));
  headers['sec-websocket-protocol'] = others.join(', ');
  if (others.length === 0) delete headers['sec-websocket-protocol'];
  const authorizations = tokens.map(authorizationOf);
  rawHeaders.push(...authorizations.flatMap((authorization) => ['Authorization', authorization]));
  headers.authorization ??= authorizations[0];
}

/** Invalid base64url becomes an invalid header, which is refused. */
function authorizationOf(encoded: string): string {
  const bytes = Buffer.from(encoded, 'base64url');
  return bytes.toString('base64url') === encoded ? `Bearer ${bytes.toString('latin1')}` : 'Bearer';
}
