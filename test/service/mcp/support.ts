/** The door in tests. A stub in place of the authorization: the credential of an agent is the name of its user. */
import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import { type Authenticator, readBearer } from '@atrium/http/authenticator.ts';
import type { Bearer, TokenScope } from '@atrium/http/caller.ts';
import { ClientAddresses } from '@atrium/http/client-address.ts';
import type { Operation } from '@atrium/http/operation.ts';
import { requestChain } from '@atrium/http/request-listener.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { unauthorized } from '@atrium/objects/status.ts';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { listen, stopListening } from '../../support/listening.ts';
import { type ServerOptions, startServer, type TestServer } from '../../support/server.ts';

export const publicURL = 'https://console.example.com';

/** Users by their name in Kubernetes, with the User record if they have one. */
type People = Readonly<Record<string, { user?: string; scope?: TokenScope; direct?: string | undefined }>>;

const stub = (people: People): Authenticator => {
  const read = async ({ req }: { req: Parameters<typeof readBearer>[0] }): Promise<Bearer | undefined> => {
    const bearer = readBearer(req);
    if (bearer === undefined) return undefined;
    const name = bearer.token.replace('_at_', '@');
    const person = people[name];
    if (person === undefined) throw unauthorized({ tokenGiven: true });
    const { direct, ...known } = person;
    const client = 'https://agent.example.com/client.json';
    return {
      ...bearer,
      ...known,
      hash: hash('sha256', bearer.token),
      isVerified: true,
      actAs: { name, uid: '', groups: [], extra: {} },
      agent: { client, name: 'Helper', host: 'agent.example.com', session: 's-agent', direct },
    };
  };
  const identify = (bearer: Bearer) => ({ ...bearer, identity: bearer.actAs ?? { name: '', uid: '', groups: [], extra: {} } });
  return {
    read,
    revalidate: async (ctx) => {
      const bearer = await read(ctx);
      if (bearer === undefined) throw unauthorized({ tokenGiven: false });
      return bearer;
    },
    identify: async (bearer) => identify(bearer),
    identified: identify,
  };
};

interface Answer {
  isError: boolean;
  /** Our own words. */
  note: string;
  data: Record<string, unknown>;
  /** Texts of the answer. */
  parts: readonly string[];
  /** Whole result as text. */
  text: string;
}

const answered = z.object({
  isError: z.boolean().default(false),
  content: z.tuple([z.object({ text: z.string() }), z.object({ text: z.string() })]),
  structuredContent: z.record(z.string(), z.unknown()),
});

export interface Door extends TestServer {
  doorURL: string;
  /** Connects the official client as the agent of a user. */
  connect(person: string): Promise<Client>;
  /** Calls a tool by the official client. */
  call(person: string, name: string, input?: Record<string, unknown>): Promise<Answer>;
  post(person: string | undefined, body: unknown, headers?: Record<string, string>, signal?: AbortSignal): Promise<Response>;
  /** Sends a request with the credential of the agent of a user to an operation behind the stub. */
  asAgent(person: string, method: string, path: string, body?: unknown): Promise<Response>;
}

/** @param isStubbed selects further operations behind the same stub, which accept no agent in a real service. Default: none */
export async function startDoor(
  people: People,
  { config = {}, ...options }: ServerOptions = {},
  isStubbed: (operation: Operation) => boolean = () => false,
): Promise<Door> {
  const { features, ...others } = config;
  const server = await startServer({
    ...options,
    config: { ...others, server: { publicURL }, features: { mcp: true, ...(features as object | undefined) } },
  });
  for (const file of ['impersonation.yaml', 'agents.yaml']) await server.kubernetes.applyFile(file);
  const chain = requestChain({
    basePath: '',
    addresses: new ClientAddresses([], createLog({ level: 'silent', format: 'json' })),
    corsOrigins: [],
    operations: server.operations.filter((operation) => operation.id === 'CallAgentTools' || isStubbed(operation)),
    authenticator: stub(people),
    bodyLimit: 1024 * 1024,
    requestTimeoutMs: 120_000,
    maxInFlight: 1000,
    log: createLog({ level: 'info', format: 'json' }, { write: (line) => server.logLines.push(line) }),
    metrics: new Metrics(),
    isStopping: () => false,
  });
  const http = createServer(chain.listener);
  const doorURL = `http://127.0.0.1:${await listen(http)}/mcp`;
  const clients = new Map<string, Promise<Client>>();
  const headersOf = (person: string) => ({ Authorization: `Bearer ${person.replace('@', '_at_')}` });
  const connect = async (person: string) => {
    const client = new Client({ name: 'a-test', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(doorURL), { requestInit: { headers: headersOf(person) } }));
    return client;
  };
  return {
    ...server,
    doorURL,
    connect,
    async call(person, name, input = {}) {
      const client = clients.get(person) ?? connect(person);
      clients.set(person, client);
      const result = await (await client).callTool({ name, arguments: input });
      const { isError, content, structuredContent } = answered.parse(result);
      const parts = content.map(({ text }) => text);
      return { isError, note: content[0].text, data: structuredContent, parts, text: JSON.stringify(result) };
    },
    post: (person, body, headers = {}, signal) =>
      fetch(doorURL, {
        method: 'POST',
        ...(signal && { signal }),
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          ...(person !== undefined && headersOf(person)),
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    asAgent(person, method, path, body) {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const headers = { ...headersOf(person), ...(body !== undefined && { 'Content-Type': type }) };
      return fetch(new URL(path, doorURL), { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    },
    async stop() {
      for (const client of clients.values()) await (await client).close();
      await stopListening(http);
      await server.stop();
    },
  };
}
