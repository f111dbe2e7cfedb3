import { once } from 'node:events';
import { type ClientRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';
import { addLocalUser } from '../../support/local-user.ts';
import { type ServerOptions, startServer, type TestServer } from '../../support/server.ts';
import { Browser } from '../identity/browser.ts';
import { aUser } from '../users/a-user.ts';
import type { ApiServerBetween } from './api-server-between.ts';

const base = '/api/kubernetes';
export const things = `${base}/apis/between/v1/things`;
export const exec = `${base}/api/v1/namespaces/default/pods/x/exec?command=id&stdout=true`;
export const email = 'ann@example.com';
const password = 'Zuihitsu-84-bloom';

/** Starts a service that impersonates users, with a user who can log in with a password. */
export async function startProxy(between: ApiServerBetween, options: Pick<ServerOptions, 'auditStore'> = {}): Promise<TestServer> {
  const port = await freePort();
  const server = await startServer({
    ...options,
    between: between.start,
    config: { server: { port, publicURL: `http://127.0.0.1:${port}` }, kubernetes: { credentials: 'impersonate' } },
  });
  await server.kubernetes.applyFile('impersonation.yaml');
  await addLocalUser(server.kubernetes, aUser(email), await cheapPasswords().hash(password));
  return server;
}

/** Returns a browser with a session of that user. */
export async function logIn({ url: service }: TestServer): Promise<Browser> {
  const visitor = new Browser(service, [service]);
  const login = await eventually(
    () => visitor.get(`${service}/api/v2/token/login?token_storage=cookie`),
    ({ response }) => response.status === 200,
  );
  const { url } = await visitor.submit(await visitor.get(JSON.parse(login.body).auth_url), { email, password });
  expect((await visitor.get(`${service}/api/v2/token/callback${url.search}`)).response.status).to.equal(200);
  return visitor;
}

export const cookieOf = ({ cookies }: Browser) => ({ Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') });

export interface Opened {
  status: number;
  headers: IncomingHttpHeaders;
  /** Body of a refusal. */
  body: string;
  socket: Socket | undefined;
}

const opened: Socket[] = [];

/** Closes the connections that a test has opened. */
export function closeOpened(): void {
  for (const socket of opened.splice(0)) socket.destroy();
}

export async function answerTo(call: ClientRequest): Promise<Opened> {
  call.on('error', () => undefined);
  call.end();
  const answer = await Promise.race([once(call, 'upgrade'), once(call, 'response')]);
  const [response, socket] = answer;
  const isSwitched = response.statusCode === 101;
  if (isSwitched) {
    opened.push(socket);
    socket.on('error', () => undefined);
    socket.unshift(answer[2]);
  }
  return {
    status: response.statusCode,
    headers: response.headers,
    body: isSwitched ? '' : await text(response),
    socket: isSwitched ? socket : undefined,
  };
}

interface Way {
  method?: string;
  path?: string;
  protocol?: string;
}

/** Requests a connection with another protocol. */
export const openUpgrade = (
  { url }: Pick<TestServer, 'url'>,
  headers: OutgoingHttpHeaders,
  { method = 'GET', path = exec, protocol = 'websocket' }: Way = {},
) =>
  answerTo(
    request(`${url}${path}`, {
      method,
      headers: {
        Connection: 'Upgrade',
        Upgrade: protocol,
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        ...headers,
      },
    }),
  );

/** Makes the API server accept the upgrade, and echo what it receives. @returns its ends of the connections */
export function echo(between: ApiServerBetween): Duplex[] {
  const upstream: Duplex[] = [];
  between.upgrade = (received, socket) => {
    upstream.push(socket);
    const { upgrade = '', 'sec-websocket-protocol': protocol } = received.headers;
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      `Upgrade: ${upgrade}`,
      'Connection: Upgrade',
      'Sec-WebSocket-Accept: x',
      'X-Stream-Protocol-Version: v4.channel.k8s.io',
      'Set-Cookie: a=b',
      ...(protocol ? [`Sec-WebSocket-Protocol: ${protocol.split(',')[0]}`] : []),
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\nhello`);
    socket.on('data', (chunk) => socket.write(`echo ${chunk}`));
  };
  return upstream;
}

export const closed = (socket: Duplex | undefined) =>
  eventually(() => socket?.destroyed || socket?.closed || socket?.readableEnded, Boolean);
