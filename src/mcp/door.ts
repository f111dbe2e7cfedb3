/** Joins the protocol's library with the calls of tools. The library is loaded with this file, which only an enabled door imports. */
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  type McpServerFactory,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ToolCalls } from './calls.ts';
import { instructions } from './instructions.ts';
import type { Tool, ToolCall } from './tool.ts';

type Request = globalThis.Request;
export type DoorCall = Omit<ToolCall, 'about'>;

/** Headers of the protocol. Credentials of the request are not handed over. */
const protocolHeader = /^(?:accept|content-type|mcp-.*)$/;

interface DoorOptions {
  readonly tools: readonly Tool[];
  readonly calls: ToolCalls;
  readonly version: string;
}

export type Door = (call: DoorCall, message: unknown) => Promise<Response>;

/** Returns a function that answers one message of an agent. No state is left after the answer, so that any replica answers the next one. */
export function createDoor({ tools, calls, version }: DoorOptions): Door {
  const underWay = new WeakMap<Request, DoorCall>();
  const listed = tools.map((tool) => ({ tool, inputSchema: uncheckedSchema(tool.input) }));
  const serverFor = (call: DoorCall | undefined): McpServer => {
    const server = new McpServer({ name: 'atrium', title: 'Atrium', version }, { instructions });
    for (const { tool, inputSchema } of listed) {
      const { name, title, description, isReadOnly } = tool;
      const annotations = { title, readOnlyHint: isReadOnly, destructiveHint: false, openWorldHint: false };
      server.registerTool(name, { title, description, inputSchema, annotations }, (input) => {
        if (call === undefined) throw new Error('a message without its call');
        return calls.run(tool, input, call);
      });
    }
    return server;
  };
  const factory: McpServerFactory = ({ requestInfo }) => serverFor(requestInfo && underWay.get(requestInfo));
  // No subscription is kept: the tools never change.
  const current = withoutNotice(() => createMcpHandler(factory, { legacy: 'reject', responseMode: 'json', maxSubscriptions: 0 }));
  return async (call, message) => {
    const headers = Object.entries(call.ctx.req.headers).flatMap(([name, value]): [string, string][] =>
      protocolHeader.test(name) && typeof value === 'string' ? [[name, value]] : [],
    );
    const request = new Request('http://atrium/mcp', { method: 'POST', headers, signal: call.signal });
    underWay.set(request, call);
    if (!(await isLegacyRequest(request, message))) return current.fetch(request, { parsedBody: message });
    return answerEarlier(serverFor(call), request, message);
  };
}

/** Answers a message of an earlier version of the protocol, whose handshake leaves no state here. */
async function answerEarlier(server: McpServer, request: Request, message: unknown): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: message });
  } finally {
    await server.close();
  }
}

/** Returns a schema that the library lists and does not check: the calls validate input, with the messages of Kubernetes. */
function uncheckedSchema(schema: z.ZodObject) {
  const json = z.toJSONSchema(schema, { io: 'input' });
  return {
    '~standard': {
      version: 1 as const,
      vendor: 'atrium',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => json, output: () => json },
    },
  };
}

/** Runs the work without the notice of the library that JSON answers have no progress. */
function withoutNotice<T>(work: () => T): T {
  const { warn } = console;
  console.warn = (...data: unknown[]) => {
    if (!String(data[0]).startsWith("responseMode: 'json'")) warn(...data);
  };
  try {
    return work();
  } finally {
    console.warn = warn;
  }
}
