/** Operations on the caller's accounts at issuers, not to be confused with one-time links (`one-time-links`). */
import type { Caller } from '@atrium/http/caller.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import type { Services } from '../../services.ts';
import type { Account } from '../../users/record/account.ts';
import { type LoginInfo, loginInfo, returnPath } from '../schema.ts';

const linkedAccount = z
  .object({
    id: z.string().describe('Id for `DELETE /auth/v1/links/{id}`.'),
    issuer: z.string().describe('Id of the issuer, or its address if it is no longer configured.'),
    name: z.string().describe('Display name of the issuer.'),
    subjectName: z.string().describe('The user name that Kubernetes sees after a login there.'),
    linkedTime: z.iso.datetime().exactOptional().describe('Time of linking. Not set for the first account.'),
    isFirst: z.boolean().describe('`true` for the account that names the user, which cannot be unlinked.'),
  })
  .meta({ id: 'LinkedAccount' });

export type LinkedAccount = z.output<typeof linkedAccount>;

const linkable = z.array(z.object({ id: z.string(), name: z.string() })).describe('Issuers whose accounts the caller can link.');

const linkedAccountList = z.object({ items: z.array(linkedAccount), linkable }).meta({
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

const linkAccountRequest = z
  .strictObject({
    issuer: z.string().max(256).describe('Id of the issuer of the account to link.'),
    return_to: returnPath.exactOptional().describe('Path that the front-end opens afterwards. Returned in `ext.return_to` of UserInfo.'),
  })
  .meta({ id: 'AccountLinkRequest', examples: [{ issuer: 'corp', return_to: '/users/8c87b489ce35cf2e2f39f80e282cb2e8/links' }] });

export type LinkAccountRequest = z.output<typeof linkAccountRequest>;

/** Id of a linked account. */
const linkedAccountID = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .describe('Id of the account in `ListLinkedAccounts`.');

/** Handlers of the operations. @throws StatusError */
export interface LinkedAccountHandlers {
  list(caller: Caller): LinkedAccountList | Promise<never>;
  begin(ctx: Context, request: LinkAccountRequest, caller: Caller): Promise<LoginInfo>;
  end(ctx: Context, id: string, caller: Caller, signal: AbortSignal): Promise<Account>;
}

const json = 'application/json';
const tag = 'login';
const notFresh = { description: 'The login is too old: cause `StepUpRequired`, with a challenge (RFC 9470).' };

export const linkedOperations = ({ audit }: Services, handlers: LinkedAccountHandlers): Operation[] => [
  listOperation(handlers.list),
  beginOperation(handlers.begin),
  endOperation(handlers.end, audit),
];

const listOperation = (list: LinkedAccountHandlers['list']) =>
  operation({
    id: 'ListLinkedAccounts',
    method: 'GET',
    paths: ['/auth/v1/links'],
    tag,
    summary: 'Lists the accounts of issuers with which the caller can log in',
    credential: 'required',
    answers: {
      200: {
        description: 'The accounts; the first one names the user. Empty for a caller without a user record.',
        content: { [json]: linkedAccountList },
      },
    },
    async handle({ ctx, caller }) {
      ctx.body = await list(caller);
    },
  });

const beginOperation = (begin: LinkedAccountHandlers['begin']) =>
  operation({
    id: 'LinkAccount',
    method: 'POST',
    paths: ['/auth/v1/links'],
    tag,
    summary: 'Begins to link an account of another issuer to the user of the caller',
    description:
      'Returns the authorization URL like a login. The callback in the same session links the account. Other sessions and tokens of the user end. Requires a recent login (`login.stepUp.maxAge`).',
    credential: 'required',
    body: linkAccountRequest,
    answers: {
      200: { description: 'The authorization URL.', content: { [json]: loginInfo } },
      401: notFresh,
      403: { description: 'The caller has no session or no user record, is an administrator, or logged in with a linked account.' },
      409: { description: 'The user already has an account of this issuer.' },
      422: { description: 'The issuer does not exist, or is the embedded one.' },
    },
    async handle({ ctx, caller, body }) {
      ctx.body = await begin(ctx, body, caller);
    },
  });

const endOperation = (end: LinkedAccountHandlers['end'], audit: Services['audit']) =>
  operation({
    id: 'UnlinkAccount',
    method: 'DELETE',
    paths: ['/auth/v1/links/:id'],
    tag,
    summary: 'Unlinks an account from the user of the caller',
    description: 'Ends the sessions and tokens of that account. Requires a recent login (`login.stepUp.maxAge`).',
    credential: 'required',
    params: z.object({ id: linkedAccountID }),
    answers: {
      204: { description: 'The account is unlinked.' },
      401: notFresh,
      403: { description: 'The credential does not prove a login: cause `StepUpNotPossible`.' },
      404: { description: 'The caller has no such account.' },
      409: { description: 'The account names the user, and cannot be unlinked.' },
    },
    async handle({ ctx, caller, params: { id }, signal }) {
      const target = await end(ctx, id, caller, signal);
      audit.recordWrite(ctx, caller, { audit: 'SubjectUnlinked', target, code: 204 });
      ctx.status = 204;
    },
  });
