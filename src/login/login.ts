import type { Context } from 'koa';
import { badRequest } from '../api/status.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { Operation } from '../http/operation.ts';
import type { Services } from '../services.ts';
import type { SessionContext } from '../sessions/context.ts';
import type { SessionsFeature } from '../sessions/sessions.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { LoginRecorder } from '../users/logins/recorder.ts';
import { beginLogin } from './begin.ts';
import { Callback } from './callback.ts';
import { finishLogin } from './finish.ts';
import { FlowCookies } from './flow.ts';
import { listLinked, unlink } from './linked-accounts/accounts.ts';
import { beginLinking } from './linked-accounts/begin.ts';
import { type LinkedAccountHandlers, linkedOperations } from './linked-accounts/routes.ts';
import { type LoginHandlers, loginOperations } from './routes.ts';
import { Info, userInfoOf } from './user-info.ts';

interface LoginNeeds {
  /** Has no context if no login is configured: then the API server verifies all tokens. */
  sessions: Pick<SessionsFeature, 'context' | 'keepSession'>;
  /** Asks the API server for the user of a bearer token. */
  identify: Authenticator['identify'];
  recorder: LoginRecorder;
  knownBrowsers: KnownBrowsers;
  notices: Notices;
}

/** Creates the feature: login at the issuer, linked accounts and UserInfo. */
export function createLogin(
  services: Services,
  { sessions: { context: sessions, keepSession }, identify, ...needs }: LoginNeeds,
): { operations: Operation[] } {
  const info = new Info(identify, sessions);
  const handlers = sessions === undefined ? unconfigured : loginHandlers(sessions, { ...needs, keepSession });
  const handleInfo: LoginHandlers['info'] = async (caller, signal) => userInfoOf(await info.of(caller, signal), services);
  const linked = services.config.features.linkedAccounts ? linkedOperations(services, handlers.linkedAccounts) : [];
  return { operations: [...loginOperations(services, { ...handlers, info: handleInfo }), ...linked] };
}

type FlowHandlers = Pick<LoginHandlers, 'begin' | 'finish'> & { linkedAccounts: LinkedAccountHandlers };

function loginHandlers(
  context: SessionContext,
  { recorder, knownBrowsers, notices, keepSession }: Omit<LoginNeeds, 'sessions' | 'identify'> & Pick<SessionsFeature, 'keepSession'>,
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

const refuse = async (): Promise<never> => {
  throw badRequest('login is not configured');
};
const unconfigured: FlowHandlers = { begin: refuse, finish: refuse, linkedAccounts: { list: refuse, begin: refuse, end: refuse } };
