import { z } from 'zod';
import type { Issuers } from '../../issuer/issuers.ts';

const name = 'Atrium';

export const metadataSchema = z
  .object({
    resource: z.url().describe('Value of the parameter `resource` (RFC 8707), and of `aud` in tokens.'),
    resource_name: z.string(),
    authorization_servers: z.array(z.url()).describe('Issuers whose access tokens are accepted.'),
    bearer_methods_supported: z.array(z.literal('header')),
  })
  .meta({
    id: 'ProtectedResourceMetadata',
    examples: [
      {
        resource: 'https://console.example.com/mcp',
        resource_name: name,
        authorization_servers: ['https://console.example.com/identity'],
        bearer_methods_supported: ['header'],
      },
    ],
  });

type Metadata = z.output<typeof metadataSchema>;

/** Returns the metadata of the door. The embedded issuer gives no token for it yet. */
export const metadataOf = (resource: string, issuers: Issuers): Metadata => ({
  resource,
  resource_name: name,
  authorization_servers: [...issuers.all()].filter(({ settings }) => !settings.isEmbedded).map(({ settings }) => settings.issuer),
  bearer_methods_supported: ['header'],
});

/** Returns the address of the metadata. */
export const metadataURLOf = (resource: string): string => new URL('.well-known/oauth-protected-resource/mcp', resource).href;
