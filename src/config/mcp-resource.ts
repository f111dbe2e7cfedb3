import type { Config } from './schema.ts';

/** Path of the MCP door, below the base path. */
export const mcpPath = '/mcp';

/** Scope of access tokens of the embedded issuer for the door. */
export const agentScopeName = 'mcp:read';

/** Returns the resource identifier of the MCP door (RFC 8707), as clients write it; undefined if the door is off. */
export function mcpResourceOf({ features, server: { publicURL } }: Config): string | undefined {
  return features.mcp && publicURL !== undefined ? new URL(`${publicURL.replace(/\/{1,8}$/, '')}${mcpPath}`).href : undefined;
}
