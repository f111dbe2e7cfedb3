/**
 * Login: the relying party of an OpenID provider, embedded or external (docs/contract/login.md). This service owns the flow, the sessions
 * and the validity of credentials. The API server identifies the user if it receives the token, and always authorizes. Passwords are the
 * issuer's concern.
 */
import type { Bearer } from '@atrium/http/caller.ts';
import { type AnswerDescription, type Operation, operation } from '@atrium/http/operation.ts';
import type { Context } from 'koa';
import { type IssuerConfig, issuersOf } from '../config/issuers.ts';
import { redirectURLsOf } from '../issuer/issuer.ts';
import type { Services } from '../services.ts';
import { unconfigured } from '../sessions/unconfigured.ts';
import {
  type CallbackQuery,
  callbackQuery,
  describedCallbackQuery,
  type IssuerList,
  issuerList,
  type LoginInfo,
  type LoginQuery,
  loggedIn,
  loginInfo,
  loginQuery,
  type UserInfo,
  userInfo,
} from './schema.ts';

/** Handlers of the operations. @throws StatusError */
export interface LoginHandlers {
  begin(ctx: Context, query: LoginQuery): Promise<LoginInfo>;
  finish(ctx: Context, query: CallbackQuery): Promise<UserInfo>;
  info(caller: Bearer, signal: AbortSignal): Promise<UserInfo>;
}

type LoginQuerySchema = ReturnType<typeof loginQuery>;
type Settings = Pick<Services, 'config' | 'basePath'>;

const json = 'application/json';
const tag = 'login';
const badParameters: AnswerDescription = { description: 'A parameter is invalid, or no login is configured.' };

/** @param isConfigured false for a service without issuers, which refuses every login */
export function loginOperations(services: Settings, { begin, finish, info }: LoginHandlers, isConfigured: boolean): Operation[] {
  const { server, login } = services.config;
  const own = login.issuers.flatMap(({ redirectURL }) => redirectURL ?? []);
  const redirectURLs = server.publicURL === undefined ? [] : [...redirectURLsOf(server.publicURL, login), ...own];
  const query = loginQuery({ redirectURLs, tokenStorage: login.tokenStorage });
  const flow = [
    ...beginOperations(begin, query),
    redirectOperation(begin, query, { externalURL: login.externalURL, start: `${services.basePath}/` }),
    ...callbackOperations(finish, `${services.basePath}/`),
  ];
  return [...(isConfigured ? flow : flow.map(unconfigured)), ...infoOperations(info), issuersOperation(issuersOf(services.config))];
}

function beginOperations(begin: LoginHandlers['begin'], query: LoginQuerySchema): Operation[] {
  const shared = {
    method: 'GET',
    tag,
    summary: 'Begins a login',
    description: 'Returns the authorization URL of the issuer, and sets a cookie that binds the flow to this browser for ten minutes.',
    credential: 'none',
    answersHead: false,
    query,
    ignoredQuery: 'all',
    answers: { 200: { description: 'The authorization URL.', content: { [json]: loginInfo } }, 400: badParameters },
    async handle({ ctx, query }: { ctx: Context; query: LoginQuery }) {
      ctx.body = await begin(ctx, query);
    },
  } as const;
  return [
    operation({ ...shared, id: 'HandleLogin', paths: ['/api/v1/token/login'] }),
    operation({ ...shared, id: 'HandleLoginV2', paths: ['/api/v2/token/login'] }),
  ];
}

/** Seconds in which a user can read why a login failed, before the start page follows. */
const readingSeconds = 3;

/** Leads a browser that navigated here to the start page, unless the login succeeds: an answer of JSON has no link. */
const leadTo =
  (start: string) =>
  (ctx: Context): void => {
    if (isNavigation(ctx)) ctx.set('Refresh', `${readingSeconds}; url=${start}`);
  };

interface Addresses {
  /** `login.externalURL`: address to which browsers are redirected instead of the issuer. */
  externalURL: string | undefined;
  /** Path of the start page. */
  start: string;
}

function redirectOperation(begin: LoginHandlers['begin'], query: LoginQuerySchema, { externalURL, start }: Addresses): Operation {
  return operation({
    id: 'HandleRedirect',
    method: 'GET',
    paths: ['/api/v2/token/redirect'],
    tag,
    summary: 'Begins a login and redirects the browser to the issuer',
    credential: 'none',
    answersHead: false,
    query,
    ignoredQuery: 'all',
    before: [leadTo(start)],
    answers: {
      200: { description: 'The authorization URL, for clients that do not follow redirects.', content: { [json]: loginInfo } },
      302: { description: 'The redirect, for a browser.', headers: { Location: 'The authorization URL, or `login.externalURL`.' } },
      400: badParameters,
    },
    async handle({ ctx, query }) {
      const info = await begin(ctx, query);
      ctx.remove('Refresh');
      ctx.vary('Sec-Fetch-Mode, Accept');
      if (isNavigation(ctx)) {
        ctx.status = 302;
        ctx.set('Location', externalURL ?? info.auth_url);
      }
      ctx.body = info;
    },
  });
}

function callbackOperations(finish: LoginHandlers['finish'], start: string): Operation[] {
  const shared = {
    method: 'GET',
    tag,
    summary: 'Completes a login',
    description: 'Verifies the answer of the issuer, once, and returns the user who has logged in.',
    credential: 'none',
    answersHead: false,
    query: callbackQuery,
    ignoredQuery: 'all',
    before: [leadTo(start)],
    described: { query: describedCallbackQuery },
    answers: {
      200: { description: 'The user, with tokens or a session.', content: { [json]: loggedIn } },
      400: { description: 'The flow is unknown, expired or belongs to another browser, or a parameter is missing.' },
      401: { description: 'The code or token is not accepted, or the user may not log in.' },
      403: { description: 'The user may no longer link accounts.' },
      409: {
        description: 'The user already has an account of this issuer, another request links it, or the user was deleted meanwhile.',
      },
    },
    async handle({ ctx, query }: { ctx: Context; query: CallbackQuery }) {
      const info = await finish(ctx, query);
      // A browser that navigated here, which `leadTo` has found, must not show JSON, so it is redirected.
      if (ctx.response.get('Refresh') && info.ext.token_storage === 'cookie') ctx.set('Refresh', `0; url=${info.ext.return_to ?? start}`);
      else ctx.remove('Refresh');
      ctx.body = info;
    },
  } as const;
  return [
    operation({ ...shared, id: 'HandleCallback', paths: ['/api/v1/token/callback'] }),
    operation({ ...shared, id: 'HandleCallbackV2', paths: ['/api/v2/token/callback'] }),
  ];
}

function infoOperations(info: LoginHandlers['info']): Operation[] {
  const shared = {
    method: 'GET',
    tag,
    summary: 'Returns the identity of the caller',
    credential: 'forwarded',
    openToPasswordDue: true,
    openToScopes: true,
    answers: { 200: { description: 'The caller.', content: { [json]: userInfo } } },
    async handle({ ctx, caller, signal }: { ctx: Context; caller: Bearer; signal: AbortSignal }) {
      const person = await info(caller, signal);
      ctx.state.userName = person.name;
      ctx.body = person;
    },
  } as const;
  return [
    operation({ ...shared, id: 'HandleInfo', paths: ['/api/v1/token/info'] }),
    operation({ ...shared, id: 'HandleInfoV2', paths: ['/api/v2/token/info'] }),
  ];
}

/** Lists the issuers, for a page with one button for each. */
function issuersOperation(issuers: readonly IssuerConfig[]): Operation {
  const items = issuers.map(({ id, name = id }) => ({ id, name }));
  return operation({
    id: 'ListLoginIssuers',
    method: 'GET',
    paths: ['/api/v2/token/issuers'],
    tag,
    summary: 'Lists the issuers for logins',
    credential: 'none',
    answers: {
      200: { description: 'The issuers in the order of the configuration. The first is the default.', content: { [json]: issuerList } },
    },
    async handle({ ctx }) {
      ctx.body = { items } satisfies IssuerList;
    },
  });
}

/** Reports whether a browser displays the answer (Fetch Metadata). Old browsers are recognized by `Accept`. */
function isNavigation(ctx: Context): boolean {
  const mode = ctx.get('Sec-Fetch-Mode');
  return mode === '' ? ctx.get('Accept').includes('text/html') : mode === 'navigate';
}
