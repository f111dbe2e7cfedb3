/** Requests that ask for another protocol on their connection (RFC 9110, 7.8), where an operation offers it. */
import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { hasBody } from './body.ts';
import type { Operation, UpgradeProtocol } from './operation.ts';

export interface Upgrade {
  readonly protocol: UpgradeProtocol;
  readonly socket: Socket;
  /** What the caller has sent behind the request already. */
  readonly head: Buffer;
}

const upgradeKey = Symbol('upgrade');
type MaybeUpgrade = IncomingMessage & { [upgradeKey]?: Upgrade };

/** Undefined for a request whose `Upgrade` was ignored, too. */
export const upgradeOf = (request: IncomingMessage): Upgrade | undefined => (request as MaybeUpgrade)[upgradeKey];

/** Node asks this of each request with `Upgrade`: what is not offered is answered as without. */
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

/** Answers such a request by the listener of all others: a refusal goes out as ever, and the connection ends. */
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

/** Lets go out what was written, and waits for the other side no longer than a moment. */
export function endSoon(socket: Duplex): void {
  socket.end();
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** That a caller has gone is only told to who reads. What they send before they are answered is left where it is. */
function endOnLeave(socket: Socket): { off(): void } {
  const look = () => {
    if (socket.readableLength === 0) socket.read();
  };
  const leave = () => socket.destroy();
  socket.on('readable', look).once('end', leave);
  return { off: () => void socket.off('readable', look).off('end', leave) };
}

/** @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/authentication/request/websocket/protocol.go */
const tokenProtocol = /^base64url\.bearer\.authorization\.k8s\.io\.(.*)$/s;

/**
 * A page cannot set headers on a WebSocket, so it says its bearer token as a sub-protocol. From here on that is the `Authorization` of the
 * request; beside another, or twice, it makes two of them, which are refused. It never goes on: an API server would believe it.
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

/** What is not base64url of a text is no token, and is refused as such. */
function authorizationOf(encoded: string): string {
  const bytes = Buffer.from(encoded, 'base64url');
  return bytes.toString('base64url') === encoded ? `Bearer ${bytes.toString('latin1')}` : 'Bearer';
}
