import { z } from 'zod';
import { agentScopeName } from '../../config/mcp-resource.ts';
import type { Issuers } from '../../issuer/issuers.ts';

const name = 'Atrium';

export const metadataSchema = z
  .object({
    resource: z.url().describe('Value of the parameter `resource` (RFC 8707), and of `aud` in tokens.'),
    resource_name: z.string(),
    authorization_servers: z.array(z.url()).describe('Issuers whose access tokens are accepted.'),
    scopes_supported: z.array(z.string()).exactOptional().describe('Missing if there are issuers beside the embedded one.'),
    bearer_methods_supported: z.array(z.literal('header')),
  })
  .meta({
    id: 'ProtectedResourceMetadata',
    examples: [
      {
        resource: 'https://console.example.com/mcp',
        resource_name: name,
        authorization_servers: ['https://console.example.com/identity'],
        scopes_supported: ['mcp:read'],
        bearer_methods_supported: ['header'],
      },
    ],
  });

type Metadata = z.output<typeof metadataSchema>;

/** Returns the metadata of the door. An external issuer would refuse a scope that it does not know. */
export function metadataOf(resource: string, issuers: Issuers): Metadata {
  const all = [...issuers.all()].map(({ settings }) => settings);
  return {
    resource,
    resource_name: name,
    authorization_servers: all.map(({ issuer }) => issuer),
    ...(all.every(({ isEmbedded }) => isEmbedded) && { scopes_supported: [agentScopeName] }),
    bearer_methods_supported: ['header'],
  };
}

/** Returns the address of the metadata. */
export const metadataURLOf = (resource: string): string => new URL('.well-known/oauth-protected-resource/mcp', resource).href;
