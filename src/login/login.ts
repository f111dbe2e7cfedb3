import type { Authenticator } from '@atrium/http/authenticator.ts';
import type { Bearer } from '@atrium/http/caller.ts';
import type { Operation } from '@atrium/http/operation.ts';
import { StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { type AuditEvent, auditCaller, auditOrigin } from '../audit/audit.ts';
import type { Services } from '../services.ts';
import type { SessionContext } from '../sessions/context.ts';
import { newLogin } from '../sessions/login-facts.ts';
import { beginSession } from '../sessions/max-sessions.ts';
import { localPayload, sessionPayload } from '../sessions/schema.ts';
import type { SessionsFeature } from '../sessions/sessions.ts';
import { refuseUnconfigured } from '../sessions/unconfigured.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { LoginRecorder } from '../users/logins/recorder.ts';
import { beginLogin } from './begin.ts';
import { Callback, type LoggedIn } from './callback.ts';
import { FlowCookies } from './flow.ts';
import { listLinked, unlink } from './linked-accounts/accounts.ts';
import { beginLinking } from './linked-accounts/begin.ts';
import { type LinkAccountNeeds, linkAccount } from './linked-accounts/link.ts';
import { type LinkedAccountHandlers, linkedOperations } from './linked-accounts/routes.ts';
import { type LoginHandlers, loginOperations } from './routes.ts';
import type { CallbackQuery } from './schema.ts';
import { Info, type Person, userInfoOf } from './user-info.ts';

/** Reports whether a caller has to know of the state of the audit. */
export type HasAuditAlert = (caller: Bearer, signal: AbortSignal) => Promise<boolean>;

interface LoginNeeds {
  /** Has no context if no login is configured: then the API server verifies all tokens. */
  sessions: Pick<SessionsFeature, 'context' | 'keepSession'>;
  /** Asks the API server for the user of a bearer token. */
  identify: Authenticator['identify'];
  recorder: LoginRecorder;
  knownBrowsers: KnownBrowsers;
  notices: Notices;
  hasAuditAlert: HasAuditAlert;
}

/** Creates the feature: login at the issuer, linked accounts and UserInfo. */
export function createLogin(
  services: Services,
  { sessions: { context: sessions, keepSession }, identify, hasAuditAlert, ...needs }: LoginNeeds,
): { operations: Operation[] } {
  const info = new Info(identify, sessions);
  const handlers = sessions === undefined ? withoutIssuers : loginHandlers(sessions, { ...needs, keepSession });
  const handleInfo: LoginHandlers['info'] = async (caller, signal) =>
    userInfoOf({ ...(await info.of(caller, signal)), hasAuditAlert: await hasAuditAlert(caller, signal) }, services);
  const linked = services.config.features.linkedAccounts ? linkedOperations(services, handlers.linkedAccounts) : [];
  return { operations: [...loginOperations(services, { ...handlers, info: handleInfo }, sessions !== undefined), ...linked] };
}

type FlowHandlers = Pick<LoginHandlers, 'begin' | 'finish'> & { linkedAccounts: LinkedAccountHandlers };

function loginHandlers(
  context: SessionContext,
  {
    recorder,
    knownBrowsers,
    notices,
    keepSession,
  }: Omit<LoginNeeds, 'sessions' | 'identify' | 'hasAuditAlert'> & Pick<SessionsFeature, 'keepSession'>,
): FlowHandlers {
  const { limit, keyRing } = context;
  const flows = new FlowCookies(context);
  const callback = new Callback(context, flows, recorder);
  const linking = { notices, keepSession };
  const count = async (ctx: Context) => {
    const taken = await knownBrowsers.take(ctx, limit);
    if ('retryAfterSeconds' in taken) limit.refuse(taken);
  };
  return {
    async begin(ctx, query) {
      await count(ctx);
      await keyRing.settled();
      return beginLogin(context, flows, ctx, query);
    },
    async finish(ctx, query) {
      await count(ctx);
      return userInfoOf(await finishLogin(context, { callback, knownBrowsers, linking }, ctx, query), context);
    },
    linkedAccounts: {
      list: (caller) => listLinked(context, caller),
      async begin(ctx, request, caller) {
        await count(ctx);
        await keyRing.settled();
        return beginLinking(context, flows, ctx, request, caller);
      },
      end: (ctx, id, caller, signal) => unlink(context, notices, { ctx, id }, caller, signal),
    },
  };
}

const refuse = async () => refuseUnconfigured();
const withoutIssuers: FlowHandlers = { begin: refuse, finish: refuse, linkedAccounts: { list: refuse, begin: refuse, end: refuse } };

/**
 * Completes a login, or links an account: after the callback the browser receives the tokens, or a session that stores them.
 *
 * @throws StatusError 400, 401, 403, 409 if an account cannot be linked or the user is deleted meanwhile, 503, 504
 */
async function finishLogin(
  context: SessionContext,
  { callback, knownBrowsers, linking }: { callback: Callback; knownBrowsers: KnownBrowsers; linking: LinkAccountNeeds },
  ctx: Context,
  query: CallbackQuery,
): Promise<Person> {
  const { audit } = context;
  try {
    const { signal } = ctx.state;
    const proof = await callback.prove(ctx, query, signal);
    const { link } = proof.flow;
    if (link !== undefined) return await linkAccount(context, { callback, ...linking }, ctx, { proof, link });
    const loggedIn = await callback.logIn(proof, signal);
    const { person, session } = await issueSession(context, ctx, loggedIn, signal);
    if (loggedIn.account !== undefined) await knownBrowsers.remember(ctx, loggedIn.account.uid);
    audit.record(succeeded(ctx, loggedIn, session));
    return person;
  } catch (error) {
    if (error instanceof StatusError) audit.record(failed(ctx, error));
    throw error;
  }
}

/** @returns the person, and the name of the Session unless the client stores the tokens itself */
async function issueSession(
  context: SessionContext,
  ctx: Context,
  loggedIn: LoggedIn,
  signal: AbortSignal,
): Promise<{ person: Person; session?: string }> {
  const { sessions, seals, config, now } = context;
  const { flow, tokens, login: verified, identity, user, account } = loggedIn;
  const { tokenStorage, returnTo } = flow;
  const person: Person = { identity, login: verified, account, tokenStorage, expiresAt: tokens.bearerExpiresAt, returnTo };
  const known = { user, userUID: account?.uid, subjectName: identity.name };
  const login = newLogin(verified, known, { now: now(), absoluteMs: config.login.session.absolute });
  if (tokenStorage === 'local') {
    // Refresh and logout prefer the cookie: an older session of this browser would shadow the new tokens.
    await sessions.leave(ctx, signal);
    return { person: { ...person, token: localPayload(tokens, await seals.write({ login, issuer: verified.issuer }, tokens)) } };
  }
  const session = await beginSession(context, ctx, { tokens, login, verified }, signal).catch(sessionRefused);
  return { person: { ...person, token: sessionPayload(session.secrets) }, session: session.row.name };
}

/** Reports a refusal of the Session object by the API server as 503, because it is not the caller's fault. */
function sessionRefused(error: unknown): never {
  throw error instanceof StatusError && error.status.code < 500 ? serviceUnavailable('kubernetes', { cause: error }) : error;
}

const succeeded = (ctx: Context, { identity, account, login }: LoggedIn, session: string | undefined): AuditEvent => ({
  ...auditCaller(ctx, { identity, ...(session !== undefined && { session }) }),
  audit: 'LoginSucceeded',
  outcome: 'success',
  issuer: login.issuer.settings.id,
  ...(account && { target: { name: account.name, uid: account.uid } }),
  code: 200,
});

function failed(ctx: Context, { status: { code, reason, details } }: StatusError): AuditEvent {
  const cause = details?.causes?.[0]?.reason ?? reason;
  return {
    ...auditOrigin(ctx),
    audit: 'LoginFailed',
    outcome: 'failure',
    code,
    issuer: ctx.state.issuerID ?? 'unknown',
    ...(cause && { reason: cause }),
  };
}
