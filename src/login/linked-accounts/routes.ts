/** Operations on the caller's accounts at issuers, not to be confused with one-time links (`one-time-links`). */
import type { Context } from 'koa';
import { z } from 'zod';
import { auditCaller } from '../../http/audit.ts';
import { type Caller, type Operation, operation } from '../../http/operation.ts';
import type { Services } from '../../services.ts';
import type { Account } from '../../users/record/account.ts';
import { type LoginInfo, loginInfo, returnPath } from '../schema.ts';

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
    issuer: z.string().max(256).describe('Id of the issuer of the further account.'),
    return_to: returnPath.exactOptional().describe('Where the front-end goes afterwards; comes back in `ext.return_to` of UserInfo.'),
  })
  .meta({ id: 'AccountLinkRequest', examples: [{ issuer: 'corp', return_to: '/users/8c87b489ce35cf2e2f39f80e282cb2e8/links' }] });

export type LinkAccountRequest = z.output<typeof linkAccountRequest>;

/** Id of a linked account. */
const linkedAccountID = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .describe('As `ListLinkedAccounts` tells it.');

/** Handlers of the operations. @throws StatusError */
export interface LinkedAccountHandlers {
  list(caller: Caller): LinkedAccountList | Promise<never>;
  begin(ctx: Context, request: LinkAccountRequest, caller: Caller): Promise<LoginInfo>;
  end(ctx: Context, id: string, caller: Caller, signal: AbortSignal): Promise<Account>;
}

const json = 'application/json';
const tag = 'login';
const notFresh = { description: 'The login is not fresh enough: cause `StepUpRequired`, with a challenge (RFC 9470).' };

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
    summary: 'Shows with which accounts of issuers the caller can log in',
    credential: 'required',
    answers: {
      200: { description: 'The first one names the user; none for a caller without a record.', content: { [json]: linkedAccountList } },
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
    summary: 'Begins to link an account of another issuer to the caller’s own user',
    description:
      'Answers as a login does. The callback, in the same session, links the account that logs in there. Ends the other sessions and the tokens of the user. Wants a login of the last minutes (`login.stepUp.maxAge`).',
    credential: 'required',
    body: linkAccountRequest,
    answers: {
      200: { description: 'Where to go.', content: { [json]: loginInfo } },
      401: notFresh,
      403: { description: 'No session, no record, an administrator, or a login with a linked account.' },
      409: { description: 'The user has an account of this issuer.' },
      422: { description: 'There is no such issuer, or it is the embedded one.' },
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
    summary: 'Takes an account of an issuer from the caller’s own user',
    description: 'Ends the sessions and tokens of that account. Wants a login of the last minutes (`login.stepUp.maxAge`).',
    credential: 'required',
    params: z.object({ id: linkedAccountID }),
    answers: {
      204: { description: 'The account leads to this user no longer.' },
      401: notFresh,
      403: { description: 'The credential tells of no login: cause `StepUpNotPossible`.' },
      404: { description: 'The caller has no such account.' },
      409: { description: 'It is the account that names the user.' },
    },
    async handle({ ctx, caller, params: { id }, signal }) {
      const { name, uid } = await end(ctx, id, caller, signal);
      audit.record({ ...auditCaller(ctx, caller), audit: 'SubjectUnlinked', target: { name, uid }, outcome: 'success', code: 204 });
      ctx.status = 204;
    },
  });
