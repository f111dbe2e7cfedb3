/**
 * Operations for renewal and logout (docs/contract/login.md), which `refresh_token` authorizes, and ends of sessions
 * (docs/contract/teams.md). The list is the standard one (`definition.ts`).
 */
import { formReader } from '@atrium/http/body.ts';
import { parseQuery } from '@atrium/http/input.ts';
import { type AnswerDescription, type Operation, operation } from '@atrium/http/operation.ts';
import { deleteOptions, deletionOf, dryRun } from '@atrium/objects/write-options.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import type { SessionContext } from './context.ts';
import { sessionParameter } from './definition.ts';
import { endSession, endSessions } from './ends.ts';
import { endedPayloadSchema, type GivenTokens, type RenewPayload, renewPayload } from './schema.ts';
import { userParameter } from './strategy.ts';

/** @throws StatusError 400, 429, 503, 504 */
export type ReceiveLogout = (ctx: Context, logoutToken: string, signal: AbortSignal) => Promise<void>;

const form = z
  .object({ logout_token: z.string().min(1).describe('Logout token: a JWT signed by the issuer for this client.') })
  .meta({ examples: [{ logout_token: 'eyJhbGciOi…' }] });
const readForm = formReader(16 * 1024);

export const backchannelOperation = (receive: ReceiveLogout): Operation =>
  operation({
    id: 'BackchannelLogout',
    method: 'POST',
    paths: ['/api/v2/token/backchannel-logout'],
    ignoredQuery: 'all',
    tag: 'login',
    summary: 'Ends logins that the issuer has ended',
    description:
      'Called by the issuer. Ends the sessions and tokens of one of its sessions (`sid`), or of a user (`sub`), on every replica. A logout token is accepted once.',
    credential: 'none',
    described: { body: { 'application/x-www-form-urlencoded': form } },
    answers: {
      200: { description: 'All its sessions and tokens have ended.' },
      400: { description: 'The token is no logout token of the issuer for this client, or was used before.' },
    },
    async handle({ ctx, signal }) {
      const { logout_token: token } = form.parse(parseQuery(form, new Set(), await readForm(ctx)));
      await receive(ctx, token, signal);
      ctx.status = 200;
      ctx.body = '';
    },
  });

/** Handlers of the operations. @throws StatusError 400, 401, 403, 429, 503 */
export interface SessionHandlers {
  refresh(ctx: Context, given: GivenTokens): Promise<RenewPayload>;
  logout(ctx: Context, given: GivenTokens): Promise<RenewPayload>;
}

/** RFC 6749 appendix A.17: visible ASCII. */
const refreshInput = z
  .object({
    refresh_token: z
      .string()
      .min(1)
      .max(8192)
      .regex(/^[\x20-\x7e]*$/, 'must be visible ASCII')
      .describe(
        '`refresh_token` of RenewPayload: a sealed refresh token, or the handle of a session, which is valid with its cookie only.',
      ),
  })
  .meta({ examples: [{ refresh_token: 'Yw3kq9oJ4l0b8Vt2Zr6xN1mC5sEaHdGfUiPyTjQvKBo' }] });

const logoutInput = refreshInput
  .extend({
    id_token: z
      .string()
      .regex(/^[\x21-\x7e]{1,57344}$/, 'must be visible ASCII')
      .optional()
      .describe(
        'ID token of the login, from clients that store tokens. Passed to the issuer as a hint. An ID token of another login is ignored.',
      ),
  })
  .meta({ examples: [{ refresh_token: 'k1.3q2-7wZc', id_token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln' }] });

const tag = 'login';

const crossSite: AnswerDescription = { description: 'A request of another site carries the cookie of a session.' };

export function sessionOperations({ refresh, logout }: SessionHandlers): Operation[] {
  const refreshed: Record<number, AnswerDescription> = {
    200: {
      description: 'The new tokens with a new sealed refresh token, or the new expiry of the session.',
      content: { 'application/json': renewPayload },
    },
    400: {
      description:
        'The `refresh_token` is malformed or the handle of another session, or the cookie is missing and `login.tokenStorage` does not list `local`.',
    },
    401: {
      description:
        'The login has ended: the user is no longer allowed, the issuer refuses, the new tokens belong to another user, or the token is unknown.',
    },
    403: crossSite,
  };
  const loggedOut: Record<number, AnswerDescription> = {
    200: {
      description: 'The login has ended on every replica, and the cookies are expired.',
      content: { 'application/json': endedPayloadSchema },
      headers: {
        Link: 'Logout address of the issuer, `rel="logout"`.',
        Warning: 'The issuer could not be reached. The service retries.',
      },
    },
    400: refreshed[400] ?? { description: '' },
    401: { description: 'The token belongs to no login of this service, or the login has already ended. Changes nothing.' },
    403: crossSite,
  };
  const renewal = { summary: 'Renews tokens', answers: refreshed, handle: refresh, input: refreshInput, maxForm: 16 * 1024 };
  const ending = { summary: 'Logs out', answers: loggedOut, handle: logout, input: logoutInput, maxForm: 72 * 1024 };
  return [
    get({ id: 'HandleRefresh', path: '/api/v1/token/refresh', ...renewal }),
    get({ id: 'HandleRefreshV2', path: '/api/v2/token/refresh', ...renewal }),
    get({ id: 'HandleLogoutV2', path: '/api/v2/token/logout', ...ending }),
    post({ id: 'PostRefresh', path: '/api/v1/token/refresh', ...renewal }),
    post({ id: 'PostRefreshV2', path: '/api/v2/token/refresh', ...renewal }),
    post({ id: 'PostLogoutV2', path: '/api/v2/token/logout', ...ending }),
  ];
}

interface Route {
  id: string;
  path: string;
  summary: string;
  answers: Record<number, AnswerDescription>;
  handle: SessionHandlers['refresh'];
  input: typeof refreshInput | typeof logoutInput;
  /** Maximum length of a form with the tokens, in bytes. */
  maxForm: number;
}

const get = ({ path, handle, input, maxForm: _, ...rest }: Route): Operation =>
  operation({
    ...rest,
    method: 'GET',
    paths: [path],
    tag,
    credential: 'none',
    answersHead: false,
    query: input,
    // A misspelt parameter is a missing one, and a logout must not fail because of parameters that a front end adds.
    ignoredQuery: 'all',
    async handle({ ctx, query }) {
      ctx.body = await handle(ctx, query);
    },
  });

const post = ({ path, handle, input, maxForm, ...rest }: Route): Operation => {
  const readForm = formReader(maxForm);
  return operation({
    ...rest,
    method: 'POST',
    paths: [path],
    tag,
    description: 'Works like GET, with `refresh_token` as a form field, which keeps it out of addresses.',
    credential: 'none',
    described: { body: { 'application/x-www-form-urlencoded': input } },
    async handle({ ctx }) {
      ctx.body = await handle(ctx, input.parse(parseQuery(input, new Set(), await readForm(ctx))));
    },
  });
};

const warned = { Warning: 'Set if the issuer could not be told.' };
const forbidden: AnswerDescription = { description: 'Sessions of another user, and RBAC denies it.' };

export const sessionEndOperations = (context: SessionContext): Operation[] => [
  operation({
    id: 'DeleteSessions',
    method: 'DELETE',
    paths: ['/auth/v1/sessions'],
    tag: 'sessions',
    summary: 'Ends all sessions of a user',
    description:
      'Default: the caller. Ends all sessions, including the current one, all tokens of logins, and the login at the embedded issuer. Access tokens stay valid.',
    credential: 'required',
    query: userParameter,
    answers: {
      204: { description: 'All sessions and tokens of logins have ended.', headers: warned },
      403: forbidden,
      404: { description: 'The user does not exist.' },
    },
    async handle(request) {
      await endSessions(context, request.query.user, request);
      request.ctx.status = 204;
    },
  }),
  operation({
    id: 'DeleteSession',
    method: 'DELETE',
    paths: ['/auth/v1/sessions/:name'],
    tag: 'sessions',
    summary: 'Ends a session on every replica',
    credential: 'required',
    params: z.object({ name: sessionParameter }),
    query: z.object({ dryRun }),
    body: deleteOptions,
    answers: {
      204: { description: 'Gone.', headers: warned },
      403: forbidden,
      404: { description: 'The session does not exist.' },
      409: { description: 'The session does not match the preconditions.' },
    },
    async handle(request) {
      const { params, query, body } = request;
      await endSession(context, { ...params, ...deletionOf(query, body) }, request);
      request.ctx.status = 204;
    },
  }),
];
