/** Operations for renewal and logout (docs/contract/login.md), which `refresh_token` authorizes. */
import type { Context } from 'koa';
import { z } from 'zod';
import { formReader } from '../http/body.ts';
import { parseQuery } from '../http/input.ts';
import { type AnswerDescription, type Operation, operation } from '../http/operation.ts';
import { endedPayloadSchema, type GivenTokens, type RenewPayload, renewPayload } from './renew-payload.ts';

/** @throws StatusError 400, 429, 503, 504 */
export type ReceiveLogout = (ctx: Context, logoutToken: string, signal: AbortSignal) => Promise<void>;

const form = z
  .object({ logout_token: z.string().min(1).describe('A JWT that the issuer has signed, for this client.') })
  .meta({ examples: [{ logout_token: 'eyJhbGciOi…' }] });
const readForm = formReader(16 * 1024);

export const backchannelOperation = (receive: ReceiveLogout): Operation =>
  operation({
    id: 'BackchannelLogout',
    method: 'POST',
    paths: ['/api/v2/token/backchannel-logout'],
    ignoredQuery: 'all',
    tag: 'login',
    summary: 'Ends what the issuer has ended',
    description:
      'For the issuer: the sessions and tokens of one of its sessions (`sid`), or else of all of a user (`sub`), end on every replica. A logout token counts once.',
    credential: 'none',
    described: { body: { 'application/x-www-form-urlencoded': form } },
    answers: {
      200: { description: 'Nothing of it counts any more, if anything did.' },
      400: { description: 'No logout token of the issuer for this client, or one that was used before.' },
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
      .describe('As RenewPayload gave it: a seal of the login, or the handle of the session, which counts beside its cookie.'),
  })
  .meta({ examples: [{ refresh_token: 'Yw3kq9oJ4l0b8Vt2Zr6xN1mC5sEaHdGfUiPyTjQvKBo' }] });

const logoutInput = refreshInput
  .extend({
    id_token: z
      .string()
      .regex(/^[\x21-\x7e]{1,57344}$/, 'must be visible ASCII')
      .optional()
      .describe(
        'For callers who keep the tokens: the ID token of the login, by which the issuer knows who logs out. Any other is ignored.',
      ),
  })
  .meta({ examples: [{ refresh_token: 'k1.3q2-7wZc', id_token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln' }] });

const tag = 'login';

const crossSite: AnswerDescription = { description: 'The cookie of a session came with a request of another site.' };

export function sessionOperations({ refresh, logout }: SessionHandlers): Operation[] {
  const refreshed: Record<number, AnswerDescription> = {
    200: {
      description: 'The new tokens, with a new seal of the same login, or how long the session goes on.',
      content: { 'application/json': renewPayload },
    },
    400: {
      description:
        'No `refresh_token` that could be one, or the handle of another session; or no cookie, where `login.tokenStorage` does not list `local`.',
    },
    401: {
      description:
        'The login is over: the user may not go on, the issuer refuses, or the new tokens are of another user; or this service gave no such token.',
    },
    403: crossSite,
  };
  const loggedOut: Record<number, AnswerDescription> = {
    200: {
      description: 'The login has ended here, on every replica, and the cookies are expired.',
      content: { 'application/json': endedPayloadSchema },
      headers: {
        Link: 'Where the issuer ends its own session, `rel="logout"`.',
        Warning: 'The issuer was not reached; it is tried again.',
      },
    },
    400: refreshed[400] ?? { description: '' },
    401: { description: 'Nothing that could be ended: no login of this service, or one that was over before. Nothing is written.' },
    403: crossSite,
  };
  const renewal = { summary: 'Renew tokens', answers: refreshed, handle: refresh, input: refreshInput, maxForm: 16 * 1024 };
  const ending = { summary: 'Log out', answers: loggedOut, handle: logout, input: logoutInput, maxForm: 72 * 1024 };
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
    description: 'As GET, with the token as field `refresh_token` of a form, which keeps it out of addresses.',
    credential: 'none',
    described: { body: { 'application/x-www-form-urlencoded': input } },
    async handle({ ctx }) {
      ctx.body = await handle(ctx, input.parse(parseQuery(input, new Set(), await readForm(ctx))));
    },
  });
};
