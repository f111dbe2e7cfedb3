import { problemsOfEmbeddedClients } from './embedded-clients.ts';
import { kindsOf } from './factors.ts';
import { credentialsFor, type IssuerConfig, identityURLOf, issuersOf, usernamePrefixOf } from './issuers.ts';
import { oneIssuer } from './login-sections.ts';
import { mcpResourceOf } from './mcp-resource.ts';
import type { Config } from './schema.ts';
import { smtpContradictions } from './smtp-section.ts';

type Problems = Record<string, string>;

/**
 * Returns problems of settings that are valid alone and contradict each other, by the path of the setting to change.
 *
 * @param login the section as written, without defaults
 */
export function contradictions(config: Config, login: object): Problems {
  const isOne = config.login.issuers.length === 0;
  return Object.assign(
    smtpContradictions(config.smtp),
    problemsOfFactors(config),
    problemsOfAccessRequests(config),
    problemsOfAgents(config),
    problemsOfTokenExchange(config),
    problemsOfDirectShells(config),
    problemsOfEmbeddedClients(config),
    ...issuersOf(config).map((issuer, index) => problemsOfEmbedded(issuer, isOne ? 'login' : `login.issuers[${index}]`, config)),
    isOne ? {} : problemsOfSeveral(config, login),
  );
}

const problemsOfAccessRequests = ({ features }: Config): Problems =>
  features.accessRequests && !features.userBindings
    ? { 'features.accessRequests': 'needs features.userBindings, which give the access' }
    : {};

/** A shell with the user's own token is the same at the API server, whether it comes through Atrium or not. */
function problemsOfDirectShells(config: Config): Problems {
  const isForwarded = issuersOf(config).some((issuer) => credentialsFor(config, issuer) === 'passthrough');
  if (!config.audit.refuseDirectShells || !isForwarded) return {};
  return {
    'audit.refuseDirectShells': 'needs kubernetes.credentials: impersonate, since the tokens of users go to the API server as they are',
  };
}

/** Agents get their tokens from an issuer, for the address of the service. */
function problemsOfAgents({ features, mcp, ...config }: Config): Problems {
  const isWithoutTokens = features.mcp && (config.server.publicURL === undefined || issuersOf({ features, mcp, ...config }).length === 0);
  return {
    ...(isWithoutTokens && { 'features.mcp': 'needs server.publicURL and an issuer of logins, from which agents get their tokens' }),
    ...((mcp.writes === 'direct') !== mcp.direct.length > 0 && {
      'mcp.direct': 'must name changes with mcp.writes: direct, and is forbidden without it',
    }),
  };
}

/** Returns the problems of the token exchange. A token that a person gets at a login, or an agent, must never be one of a workload. */
function problemsOfTokenExchange(config: Config): Problems {
  const { features, server, tokenExchange } = config;
  if (!features.tokenExchange) return {};
  const logins = issuersOf(config).map(({ issuer, clientID, audiences }) => ({ issuer, audiences: [clientID, ...audiences] }));
  const ofAgents = mcpResourceOf(config);
  const entries = tokenExchange.issuers.flatMap(({ issuer, audience }, index) => {
    const path = `tokenExchange.issuers[${index}]`;
    const isLogin = logins.some((login) => login.issuer === issuer && login.audiences.includes(audience));
    return [
      ...(issuer === identityURLOf(config) ? [[`${path}.issuer`, 'must not be the embedded issuer, which has people only']] : []),
      ...(isLogin ? [[`${path}.audience`, 'must differ from the clients and audiences of logins at this issuer']] : []),
      ...(audience === ofAgents ? [[`${path}.audience`, 'must not be the address of /mcp, for which agents get tokens']] : []),
    ];
  });
  return {
    ...(!features.accessTokens && { 'features.tokenExchange': 'needs features.accessTokens, which it gives' }),
    ...(server.publicURL === undefined && { 'server.publicURL': 'is required with features.tokenExchange' }),
    ...Object.fromEntries(entries),
  };
}

/** Returns the problems of required factors. A requirement that no user can meet would lock all affected users out. */
function problemsOfFactors(config: Config): Problems {
  const { factors } = config.login;
  const isRequired = [factors.default, ...factors.rules.map((rule) => rule.factors)].includes('required');
  if (!isRequired || !config.features.factors || identityURLOf(config) === undefined || kindsOf(config).length > 0) return {};
  const why = factors.passkeys ? 'passkeys need https and a host name' : 'passkeys are off';
  return { 'login.factors.totp': `must be true if a second factor is required and ${why}; otherwise users have no factor to set up` };
}

function problemsOfEmbedded({ issuer, claims }: IssuerConfig, path: string, config: Config): Problems {
  if (issuer !== identityURLOf(config) || ['email', 'sub'].includes(claims.username)) return {};
  return { [`${path}.claims.username`]: 'must be email or sub with the embedded issuer: users choose the other claims themselves' };
}

function problemsOfSeveral(config: Config, login: object): Problems {
  const unused = Object.keys(login).filter((key) => Object.hasOwn(oneIssuer, key));
  const { issuers } = config.login;
  const missing = identityURLOf(config) === undefined;
  const entries = issuers.flatMap(({ issuer, id, redirectURL }, index) => {
    const path = `login.issuers[${index}]`;
    const isMarked = redirectURL === undefined || new URL(redirectURL).searchParams.get('issuer') === id;
    return [
      ...(issuer === undefined && missing
        ? [[`${path}.issuer`, 'is required: the embedded issuer, which is the default, is off or lacks server.publicURL']]
        : []),
      ...(isMarked ? [] : [[`${path}.redirectURL`, `must hold issuer=${id} in its query, which tells whose answer it is`]]),
    ];
  });
  const elsewhere = 'is set for each issuer by itself where there is login.issuers: move it there';
  return { ...Object.fromEntries([...unused.map((key) => [`login.${key}`, elsewhere]), ...entries]), ...collisions(issuersOf(config)) };
}

/** Returns the problems of issuers that share an identifier, a domain or a prefix. */
function collisions(issuers: readonly IssuerConfig[]): Problems {
  const problems: Problems = {};
  for (const [index, issuer] of issuers.entries())
    for (const other of issuers.slice(0, index)) {
      const path = `login.issuers[${index}]`;
      if (issuer.issuer === other.issuer) problems[`${path}.issuer`] = `is that of ${other.id}`;
      if (issuer.emailDomains.some((domain) => other.emailDomains.includes(domain)))
        problems[`${path}.emailDomains`] = `must hold no domain of ${other.id}`;
      if (isAmbiguous(usernamePrefixOf(issuer), usernamePrefixOf(other)))
        problems[`${path}.claims.usernamePrefix`] = `must differ from that of ${other.id}, and neither may begin with the other`;
      if (isAmbiguous(issuer.claims.groupsPrefix, other.claims.groupsPrefix))
        problems[`${path}.claims.groupsPrefix`] = `must differ from that of ${other.id}, and neither may begin with the other`;
    }
  return problems;
}

/** Reports whether two issuers could give the same name. An issuer may lack a prefix: its names cannot start with another's. */
const isAmbiguous = (one: string, other: string): boolean =>
  one === other || (one !== '' && other !== '' && (one.startsWith(other) || other.startsWith(one)));
