/** The one path of the door. Other methods than POST are 405: there are no sessions and no streams. */
import { type Operation, operation, type Preparation } from '@atrium/http/operation.ts';
import { StatusError, unauthorized } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';

export const mcpOperations = ({ config: { server } }: Services): Operation[] => [
  operation({
    id: 'CallAgentTools',
    method: 'POST',
    paths: ['/mcp'],
    tag: 'agents',
    summary: 'Answers a message of an agent (Model Context Protocol)',
    description: 'Takes the tokens that agents get for this path, and no others.',
    credential: 'required',
    openToScopes: true,
    before: [fromPageOf([...(server.publicURL === undefined ? [] : [new URL(server.publicURL).origin]), ...server.corsOrigins])],
    answers: { 403: { description: 'The request is from a page of another origin.' } },
    handle() {
      throw unauthorized({ tokenGiven: true, message: 'the token is not one for agents' });
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
