import type { Context } from 'koa';
import { StatusError, serviceUnavailable } from '../api/status.ts';
import { type AuditEvent, auditCaller, auditOrigin } from '../http/audit.ts';
import type { SessionContext } from '../sessions/context.ts';
import { newLogin } from '../sessions/login-facts.ts';
import { beginSession } from '../sessions/max-sessions.ts';
import { localPayload, sessionPayload } from '../sessions/schema.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { Callback, LoggedIn } from './callback.ts';
import { type LinkAccountNeeds, linkAccount } from './linked-accounts/link.ts';
import type { CallbackQuery } from './schema.ts';
import type { Person } from './user-info.ts';

/**
 * Completes a login, or links an account: after the callback the browser receives the tokens, or a session that stores them.
 *
 * @throws StatusError 400, 401, 403, 409 if an account cannot be linked or the user is deleted meanwhile, 503, 504
 */
export async function finishLogin(
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
    const person = await issueSession(context, ctx, loggedIn, signal);
    if (loggedIn.account !== undefined) await knownBrowsers.remember(ctx, loggedIn.account.uid);
    audit.record(succeeded(ctx, loggedIn));
    return person;
  } catch (error) {
    if (error instanceof StatusError) audit.record(failed(ctx, error));
    throw error;
  }
}

async function issueSession(context: SessionContext, ctx: Context, loggedIn: LoggedIn, signal: AbortSignal): Promise<Person> {
  const { sessions, seals, config, now } = context;
  const { flow, tokens, login: verified, identity, user, account } = loggedIn;
  const { tokenStorage, returnTo } = flow;
  const person: Person = { identity, login: verified, account, tokenStorage, expiresAt: tokens.bearerExpiresAt, returnTo };
  const known = { user, userUID: account?.uid, subjectName: identity.name };
  const login = newLogin(verified, known, { now: now(), absoluteMs: config.login.session.absolute });
  if (tokenStorage === 'local') {
    // Refresh and logout prefer the cookie: an older session of this browser would shadow the new tokens.
    await sessions.leave(ctx, signal);
    return { ...person, token: localPayload(tokens, await seals.write({ login, issuer: verified.issuer }, tokens)) };
  }
  const session = await beginSession(context, ctx, { tokens, login, verified }, signal).catch(sessionRefused);
  return { ...person, token: sessionPayload(session.secrets) };
}

/** Reports a refusal of the Session object by the API server as 503, because it is not the caller's fault. */
function sessionRefused(error: unknown): never {
  throw error instanceof StatusError && error.status.code < 500 ? serviceUnavailable('kubernetes', { cause: error }) : error;
}

const succeeded = (ctx: Context, { identity, account, login }: LoggedIn): AuditEvent => ({
  ...auditCaller(ctx, { identity }),
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
