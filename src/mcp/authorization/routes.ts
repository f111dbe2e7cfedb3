/** Metadata of the MCP door, by which clients find its issuer (RFC 9728). */
import { type Operation, operation } from '@atrium/http/operation.ts';
import type { z } from 'zod';
import { metadataSchema } from './metadata.ts';

const described = {
  method: 'GET',
  tag: 'agents',
  summary: 'Describes the authorization of the MCP door',
  description: 'OAuth 2.0 Protected Resource Metadata (RFC 9728).',
  credential: 'none',
  ignoredQuery: 'all',
  answers: { 200: { description: 'The metadata.', content: { 'application/json': metadataSchema } } },
} as const;

export function metadataOperations(metadata: z.output<typeof metadataSchema>): Operation[] {
  const handle = ({ ctx }: { ctx: { body: unknown } }) => {
    ctx.body = metadata;
  };
  return [
    operation({ ...described, id: 'GetMcpMetadata', paths: ['/.well-known/oauth-protected-resource/mcp'], handle }),
    // For clients that ask the host alone.
    operation({ ...described, id: 'GetProtectedResourceMetadata', paths: ['/.well-known/oauth-protected-resource'], handle }),
  ];
}
