import { z } from 'zod';
import { linkKinds } from './link.ts';

export const linkBody = z
  .strictObject({
    kind: z
      .enum(linkKinds)
      .describe('`password` for a user who has forgotten it, `invite` for one who has not logged in yet, `enrol` for a new second factor.'),
    seconds: z.int().exactOptional().describe('How long it counts: 300 to 1800, of `invite` to 604800. Default: the longest.'),
    mail: z.boolean().exactOptional().describe('Mail it to `spec.email` of the user, and do not show it.'),
  })
  .meta({ id: 'LinkRequest', examples: [{ kind: 'invite' }] });

export type LinkRequest = z.output<typeof linkBody>;

export const linkSchema = z
  .object({
    url: z.string().describe('To be given to the user, and to no one else.'),
    expiresAt: z.iso.datetime(),
  })
  .meta({
    id: 'Link',
    examples: [{ url: 'https://console.example.com/identity/link/k1.c2VhbGVk', expiresAt: '2026-03-01T11:30:00Z' }],
  });

export const mailedSchema = linkSchema
  .pick({ expiresAt: true })
  .meta({ id: 'MailedLink', examples: [{ expiresAt: '2026-03-01T11:30:00Z' }] });
