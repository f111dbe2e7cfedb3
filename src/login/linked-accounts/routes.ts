/** Operations on the caller's accounts at issuers, not to be confused with one-time links (`one-time-links`). */
import type { Context } from 'koa';
import { z } from 'zod';
import { auditCaller } from '../../http/audit.ts';
import { type Caller, type Operation, operation } from '../../http/operation.ts';
import type { Services } from '../../services.ts';
import type { Account } from '../../users/record/account.ts';
import { type LoginInfo, loginInfo } from '../schema.ts';
import { type LinkAccountRequest, type LinkedAccountList, linkAccountRequest, linkedAccountID, linkedAccountList } from './schema.ts';

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
