/** The one path of the door. Other methods than POST are 405: there are no sessions and no streams. */
import { type Operation, operation, type Preparation } from '@atrium/http/operation.ts';
import { StatusError, unauthorized } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { mcpPath } from '../config/mcp-resource.ts';
import type { Services } from '../services.ts';
import type { Door } from './door.ts';

const maxBodyBytes = 256 * 1024;

const message = z.looseObject({}).meta({
  id: 'McpMessage',
  examples: [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }],
});

export const mcpOperations = ({ config: { server } }: Services, door: () => Promise<Door>): Operation[] => [
  operation({
    id: 'CallAgentTools',
    method: 'POST',
    paths: [mcpPath],
    tag: 'agents',
    summary: 'Answers a message of an agent (Model Context Protocol)',
    description:
      'Takes the tokens that agents get for this path, and no others. Failures of the protocol are JSON-RPC errors; those of a tool are results with `isError`.',
    credential: 'required',
    openToScopes: true,
    bodyLimit: maxBodyBytes,
    before: [fromPageOf([...(server.publicURL === undefined ? [] : [new URL(server.publicURL).origin]), ...server.corsOrigins])],
    body: message,
    answers: {
      200: { description: 'The answer of the protocol.', content: { 'application/json': message } },
      202: { description: 'A notification, which has no answer.' },
      400: { description: 'The body is no message of a supported version of the protocol.' },
      403: { description: 'The request is from a page of another origin.' },
      404: { description: 'The protocol has no such method here.' },
      406: { description: '`Accept` lacks `application/json` or `text/event-stream`.' },
    },
    async handle({ ctx, caller, body, signal }) {
      if (caller.agent === undefined) throw unauthorized({ tokenGiven: true, message: 'the token is not one for agents' });
      await send(ctx, await (await door())({ ctx, caller, signal }, body));
    },
  }),
];

/** Refuses pages of other origins, whatever their token (Streamable HTTP, Security Warning). Programs send no `Origin`. */
const fromPageOf =
  (origins: readonly string[]): Preparation =>
  ({ req }) => {
    const { origin } = req.headers;
    if (origin === undefined || origins.includes(origin)) return;
    const text = 'the request does not come from a page of this service or of server.corsOrigins';
    throw new StatusError(403, 'Forbidden', text, { details: { causes: [{ reason: 'CrossSiteRequest', message: text }] } });
  };

async function send(ctx: Context, answer: Response): Promise<void> {
  const text = await answer.text();
  ctx.body = text === '' ? null : text;
  ctx.status = answer.status;
  if (text !== '') ctx.type = answer.headers.get('Content-Type') ?? 'application/json';
}
