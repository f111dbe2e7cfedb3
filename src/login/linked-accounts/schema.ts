import { z } from 'zod';
import { returnPath } from '../schema.ts';

const linkedAccount = z
  .object({
    id: z.string().describe('Names it in `DELETE /auth/v1/links/{id}`.'),
    issuer: z.string().describe('Id of the issuer; its address, if people log in there no longer.'),
    name: z.string().describe('Of the issuer, for people.'),
    subjectName: z.string().describe('The user name that Kubernetes sees after a login there.'),
    linkedTime: z.iso.datetime().exactOptional().describe('The first account has none.'),
    isFirst: z.boolean().describe('It names the user, and stays.'),
  })
  .meta({ id: 'LinkedAccount' });

export type LinkedAccount = z.output<typeof linkedAccount>;

const linkable = z.array(z.object({ id: z.string(), name: z.string() })).describe('Issuers of which the caller can link an account.');

export const linkedAccountList = z.object({ items: z.array(linkedAccount), linkable }).meta({
  id: 'LinkedAccountList',
  examples: [
    {
      items: [
        {
          id: '5d41402abc4b2a76b9719d911017c592',
          issuer: 'local',
          name: 'Local users',
          subjectName: 'jane@example.com',
          isFirst: true,
        },
        {
          id: '7d793037a0760186574b0282f2f435e7',
          issuer: 'corp',
          name: 'Example Corp',
          subjectName: 'corp:jane@corp.example',
          linkedTime: '2026-03-01T11:00:00Z',
          isFirst: false,
        },
      ],
      linkable: [{ id: 'partners', name: 'Partners' }],
    },
  ],
});

export type LinkedAccountList = z.output<typeof linkedAccountList>;

export const linkAccountRequest = z
  .strictObject({
    issuer: z.string().max(256).describe('Id of the issuer of the further account.'),
    return_to: returnPath.exactOptional().describe('Where the front-end goes afterwards; comes back in `ext.return_to` of UserInfo.'),
  })
  .meta({ id: 'AccountLinkRequest', examples: [{ issuer: 'corp', return_to: '/users/8c87b489ce35cf2e2f39f80e282cb2e8/links' }] });

export type LinkAccountRequest = z.output<typeof linkAccountRequest>;

/** Id of a linked account. */
export const linkedAccountID = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .describe('As `ListLinkedAccounts` tells it.');
