/** Settings of clients that the embedded issuer refuses. Its library reports them at the first login only. */
import { embeddedClientOf, identityURLOf, issuersOf } from './issuers.ts';
import type { Config } from './schema.ts';

type Problems = Record<string, string>;

/** RFC 6749 appendix A.1. */
const clientIDPattern = /^[\x20-\x7e]+$/;
const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

/** Returns the problems of the clients of the embedded issuer; none if it is off. */
export function problemsOfEmbeddedClients(config: Config): Problems {
  if (identityURLOf(config) === undefined) return {};
  const index = config.login.issuers.findIndex(({ issuer }) => issuer === undefined);
  const path = index === -1 ? 'login' : `login.issuers[${index}]`;
  return { ...problemsOfConsole(config, path), ...problemsOfFurther(config) };
}

/** OpenID Connect Dynamic Client Registration 1.0, section 2: web clients of the implicit flow use https, and not localhost. */
const isRefusedInFragment = (url: string): boolean => {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' || hostname === 'localhost';
};

function problemsOfConsole(config: Config, path: string): Problems {
  const { server, login } = config;
  const { clientID, responseMode, postLogoutRedirectURLs = [] } = embeddedClientOf(config);
  const isIdentifier = clientIDPattern.test(clientID);
  const problems: Problems = isIdentifier ? {} : { [`${path}.clientID`]: 'must be visible ASCII with the embedded issuer' };
  if (responseMode !== 'id_token') return problems;
  const own = issuersOf(config).find(({ isEmbedded }) => isEmbedded)?.redirectURL;
  const given: [string, readonly string[]][] = [
    [`${path}.responseMode`, [server.publicURL ?? []].flat()],
    [own === undefined ? 'login.redirectURLs' : `${path}.redirectURL`, own === undefined ? (login.redirectURLs ?? []) : [own]],
    [`${path}.postLogoutRedirectURLs`, postLogoutRedirectURLs],
  ];
  for (const [field, urls] of given)
    if (urls.some(isRefusedInFragment))
      problems[field] =
        'id_token needs an https server.publicURL with the embedded issuer, and no address of http or localhost; use code, or https at a host name';
  return problems;
}

function problemsOfFurther(config: Config): Problems {
  const { clientID } = embeddedClientOf(config);
  const problems = config.identity.clients.map(({ id, redirectURLs }, index): Problems => {
    const path = `identity.clients[${index}]`;
    const urls = redirectURLs.map((url) => new URL(url));
    const isNative = urls.length > 0 && urls.every(({ hostname }) => loopbackHosts.includes(hostname));
    return {
      ...(!clientIDPattern.test(id) && { [`${path}.id`]: 'must be visible ASCII' }),
      ...(id === clientID && { [`${path}.id`]: 'is the clientID of the console' }),
      // RFC 8252 section 7.3: programs on users' machines listen without TLS.
      ...(isNative &&
        urls.some(({ protocol }) => protocol === 'https:') && {
          [`${path}.redirectURLs`]: 'must be http at a loopback address, or hold another https address',
        }),
    };
  });
  return Object.assign({}, ...problems);
}
