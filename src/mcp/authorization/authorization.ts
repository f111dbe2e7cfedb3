/** Authorization of the MCP door: metadata for clients (RFC 9728), and verification of their tokens. */
import type { Authenticator } from '@atrium/http/authenticator.ts';
import type { Operation } from '@atrium/http/operation.ts';
import type { Context } from 'koa';
import { mcpPath, mcpResourceOf } from '../../config/mcp-resource.ts';
import type { SessionsFeature } from '../../sessions/sessions.ts';
import { AgentTokens, type OpenAgentToken } from './agent-tokens.ts';
import { metadataOf, metadataURLOf } from './metadata.ts';
import { metadataOperations } from './routes.ts';

export interface McpAuthorization {
  operations: Operation[];
  tokens: AgentTokens;
}

/** Opens tokens of the embedded issuer. */
interface EmbeddedIssuer {
  openAgentToken: OpenAgentToken;
}

/** @returns undefined if the door is off; @param embedded undefined without the embedded issuer */
export function createMcpAuthorization(
  { context, agents }: Pick<SessionsFeature, 'context' | 'agents'>,
  embedded: EmbeddedIssuer | undefined,
): McpAuthorization | undefined {
  if (context === undefined || agents === undefined) return undefined;
  const resource = mcpResourceOf(context.config);
  if (resource === undefined) return undefined;
  return {
    operations: metadataOperations(metadataOf(resource, context.issuers)),
    tokens: new AgentTokens(context, { sessions: agents, open: embedded?.openAgentToken, resource, metadataURL: metadataURLOf(resource) }),
  };
}

/** Verifies tokens of agents at the MCP door, and leaves all other paths to `others`. */
export function withAgents(others: Authenticator, agents: AgentTokens | undefined): Authenticator {
  if (agents === undefined) return others;
  const isDoor = ({ path }: Context) => path === mcpPath;
  return {
    ...others,
    read: (ctx, isOptional) => (isDoor(ctx) ? agents.read(ctx) : others.read(ctx, isOptional)),
    revalidate: (ctx) => (isDoor(ctx) ? agents.read(ctx) : others.revalidate(ctx)),
  };
}
