/** Wires authentication: issuers, sessions and login, the embedded OpenID provider, access tokens. */
import { type Authenticator, withAccessTokens } from '@atrium/http/authenticator.ts';
import type { Network } from '@atrium/http/outgoing.ts';
import { IdentityCache } from '@atrium/kubernetes/identity.ts';
import type { Base } from './base.ts';
import { embeddedIssuerOf, identityURLOf, issuersOf } from './config/issuers.ts';
import type { Config } from './config/schema.ts';
import type { Brand } from './console/brand.ts';
import { PasskeyLogin } from './factors/passkey-login.ts';
import { Passkeys } from './factors/passkeys.ts';
import { SecondFactors } from './factors/second-factors.ts';
import { FactorStore } from './factors/store.ts';
import type { GrantSessions } from './identity/grant-sessions.ts';
import { createIdentity } from './identity/identity.ts';
import { createIssuer } from './issuer/issuer.ts';
import { Issuers } from './issuer/issuers.ts';
import { createLogin, type HasAuditAlert } from './login/login.ts';
import { createMcpAuthorization, withAgents } from './mcp/authorization/authorization.ts';
import { OneTimeLinks } from './one-time-links/links.ts';
import { LinkMail } from './one-time-links/mails.ts';
import { createEndAccess } from './revocation/end-access.ts';
import { RevokedTokens } from './revocation/revoked-tokens.ts';
import type { SessionContext } from './sessions/context.ts';
import { createSessions, type SessionsFeature, withoutSessions } from './sessions/sessions.ts';
import type { Translations } from './texts/texts.ts';
import { createTokenExchange } from './token-exchange/token-exchange.ts';
import { createAccessTokens } from './tokens/tokens.ts';
import { KnownBrowsers } from './users/logins/known-browsers.ts';
import { NoticeMail } from './users/logins/notice-mail.ts';
import { Notices } from './users/logins/notices.ts';
import { LoginRecorder } from './users/logins/recorder.ts';
import { PasswordChange } from './users/passwords/change.ts';
import { PasswordCheck } from './users/passwords/check.ts';
import type { Passwords } from './users/passwords/passwords.ts';
import { withViewAs } from './view-as/view-as.ts';

interface LoginNeeds {
  brand: () => Brand;
  translations: Translations;
  passwords: Passwords;
  /** Reports whether the service has an operation of that id. */
  isOperation: (id: string) => boolean;
  /** Reports whether the caller has to know of the state of the audit. */
  hasAuditAlert: HasAuditAlert;
  /** Network of the hosts that describe agents. Default: public addresses. */
  network: Network | undefined;
}

/** Creates authentication: issuers, sessions and login, the embedded OpenID provider, access tokens. */
export function createLogins(base: Base, { brand, translations, passwords, isOperation, hasAuditAlert, network }: LoginNeeds) {
  const { services, directory, accounts } = base;
  const { config, apiServer, metrics, now } = services;
  const identities = new IdentityCache({ apiServer, metrics, now });
  const identityURL = identityURLOf(config);
  const factorStore = config.features.factors && identityURL !== undefined ? new FactorStore(services) : undefined;
  const title = () => brand().title ?? config.identity.loginPage.title;
  const notices = new Notices(services);
  const noticeMail = new NoticeMail(services, translations, title);
  notices.onAdded((...told) => noticeMail.send(...told));
  const passwordCheck = new PasswordCheck(services, accounts, passwords, directory.passwords, factorStore);
  const { attempts } = passwordCheck;
  const passkeys =
    factorStore && new Passkeys(services, { store: factorStore, notices, useOnce: (...use) => useOnce(sessions.context, ...use) });
  const factors = factorStore && passkeys && new SecondFactors(services, { attempts, store: factorStore, passkeys, notices });
  const passwordChange = new PasswordChange(services, passwords);
  const identify: Authenticator['identify'] = (bearer, signal) => identities.identify(bearer, signal);
  const again: Authenticator['revalidate'] = (ctx) => authenticator.revalidate(ctx);
  const accessTokens = config.features.accessTokens
    ? createAccessTokens(services, { accounts, localGroups: base.localGroups, identify, again, isOperation })
    : undefined;
  const { publicURL } = config.server;
  const [first, ...further] = issuersOf(config).map((issuer, _, all) => createIssuer(services, issuer, all));
  const issuers = first !== undefined && publicURL !== undefined ? new Issuers(first, ...further) : undefined;
  const revokedTokens = issuers && new RevokedTokens(services);
  const endAccess = createEndAccess(services, { revokedTokens, deleteAccessTokens: accessTokens?.deleteAll });
  const links =
    config.features.links && identityURL !== undefined
      ? new OneTimeLinks(services, { issuerURL: identityURL, passwordChange, endAccess, notices })
      : undefined;
  const linkMail = links && new LinkMail(services, { links, accounts, passwordChange, translations, title });
  const knownBrowsers = new KnownBrowsers(services);
  const identity =
    identityURL === undefined
      ? undefined
      : createIdentity(services, {
          issuerURL: identityURL,
          accounts,
          localGroups: base.localGroups,
          passwordCheck,
          passwordChange,
          knownBrowsers,
          notices,
          factors,
          links,
          passkeys: passkeys && { passkeys, login: new PasskeyLogin(services, { passkeys, attempts, accounts }) },
          linkMail,
          agents: agentSessions(config, () => sessions),
          network,
          brand,
          translations,
        });
  const sessions: SessionsFeature =
    issuers !== undefined && publicURL !== undefined && revokedTokens !== undefined
      ? createSessions(services, {
          issuers,
          publicURL,
          accounts,
          localGroups: base.localGroups,
          identify,
          revokedTokens,
          endAccess,
          markReauthenticated: identity?.markReauthenticated,
          again,
        })
      : withoutSessions(services, identify);
  const people = withAccessTokens(sessions.authenticator, accessTokens?.judge, (bearer) => identities.identified(bearer));
  const mcpAuthorization = createMcpAuthorization(sessions, identity);
  const callers = withAgents(people, mcpAuthorization?.tokens);
  const authenticator = config.kubernetes.viewAs === 'off' ? callers : withViewAs(callers, services);
  const tokenExchange =
    config.features.tokenExchange && accessTokens && publicURL !== undefined && revokedTokens
      ? createTokenExchange(services, {
          publicURL,
          accounts,
          tokens: accessTokens.exchanged,
          useOnce: (...use) => revokedTokens.useState(...use),
          isOperation,
        })
      : undefined;
  const recorder = new LoginRecorder(services, accounts, issuers?.inUse);
  const login = createLogin(services, { sessions, identify, recorder, knownBrowsers, notices, hasAuditAlert });
  return {
    login,
    endAccess,
    sessions,
    issuers,
    identity,
    accessTokens,
    mcpAuthorization,
    tokenExchange,
    authenticator,
    passwords: { passwords, passwordCheck, passwordChange },
    factorStore,
    links,
    linkMail,
    notices,
    noticeMail,
  };
}

/** Returns the sessions of agents, which the embedded issuer begins, and which are created after it. Undefined if no agent logs in there. */
function agentSessions(config: Config, sessions: () => SessionsFeature): GrantSessions | undefined {
  if (!config.features.mcp || embeddedIssuerOf(config) === undefined) return undefined;
  const agents = () => {
    const { agents: created } = sessions();
    if (created === undefined) throw new Error('no login is configured');
    return created;
  };
  return {
    begin: (...given) => agents().begin(...given),
    find: (...given) => agents().find(...given),
    end: (...given) => agents().end(...given),
  };
}

/** Reports whether a challenge is used for the first time. Returns false without sessions, because uses cannot be recorded. */
const useOnce = (context: SessionContext | undefined, ...[text, expiresAt, signal]: [string, Date, AbortSignal]): Promise<boolean> =>
  context?.revokedTokens.useState(`passkey ${text}`, expiresAt, signal) ?? Promise.resolve(false);
