import { readFile } from 'node:fs/promises';
import { badParameter, badRequest, serviceUnavailable } from '../api/status.ts';
import { issuersOf } from '../config/issuers.ts';
import type { Config } from '../config/schema.ts';
import type { Caller } from '../http/operation.ts';
import type { Connection } from '../kubernetes/connection.ts';
import { type Credential, type CredentialPlugin, kubeconfigText, publicCluster } from '../kubernetes/kubeconfig-text.ts';
import type { KubeconfigQuery } from './kubeconfig-schema.ts';

/** What the files are made of. */
export interface KubeconfigFacts {
  config: Config;
  connection: Connection;
  /** The issuer that people log in at; undefined if login is not configured. */
  issuerURL: string | undefined;
}

const certificateInstead = 'POST /auth/v1/authorize answers a kubeconfig with a client certificate, which it takes';

/**
 * A kubeconfig that names the cluster of the service, as YAML.
 *
 * @throws StatusError 400 where such a file would be of no use; 503 if the authority of the issuer cannot be read
 */
export async function kubeconfigFor(
  { config, connection, issuerURL }: KubeconfigFacts,
  { mode, namespace }: KubeconfigQuery,
  caller: Caller,
): Promise<string> {
  const credential: Credential = mode === 'exec' ? { plugin: await pluginOf(config, issuerURL) } : { token: tokenOf(caller) };
  return kubeconfigText({ ...publicCluster(connection, config.kubernetes), user: caller.identity.name, credential, namespace });
}

async function pluginOf(config: Config, issuer: string | undefined): Promise<CredentialPlugin> {
  if (issuer === undefined) throw badRequest('login is not configured');
  const [first] = issuersOf(config);
  const { credentials = first?.isEmbedded ? 'impersonate' : 'passthrough' } = config.kubernetes;
  if (credentials === 'impersonate')
    throw badParameter('mode', `the API server takes no tokens of the issuer here (kubernetes.credentials); ${certificateInstead}`);
  const { clientID, scopes = (first ?? config.login).scopes } = config.login.cli;
  return credentialPlugin({ issuer, clientID, scopes, authority: await issuerAuthority(first ?? config.login) });
}

/** Base64 of PEM. The people's machines have to believe the issuer too. */
async function issuerAuthority({ caFile }: Pick<Config['login'], 'caFile'>): Promise<string | undefined> {
  if (caFile === undefined) return undefined;
  try {
    return (await readFile(caFile)).toString('base64');
  } catch (error) {
    throw serviceUnavailable('identity provider', { cause: error });
  }
}

interface PluginSettings {
  issuer: string;
  clientID: string;
  scopes: readonly string[];
  /** Base64 of PEM; undefined where the system's authorities verify the issuer. */
  authority?: string | undefined;
}

/** How kubectl gets tokens of that issuer. */
export const credentialPlugin = ({ issuer, clientID, scopes, authority }: PluginSettings): CredentialPlugin => ({
  command: 'kubectl-atrium',
  args: [
    'token',
    `--issuer=${issuer}`,
    `--client-id=${clientID}`,
    `--scopes=${scopes.join(' ')}`,
    ...(authority === undefined ? [] : [`--ca-data=${authority}`]),
  ],
  installHint: 'kubectl-atrium is not in PATH. It is one file that needs Node.js 24.11 or later: ask those who run Atrium for it.',
});

/** Of whom the API server would not know, a file would only fail later. */
function tokenOf({ token, session, actAs, accessToken }: Caller): string {
  if (session !== undefined) throw badParameter('mode', 'token needs an Authorization header: a session hands out no tokens');
  if (actAs !== undefined && accessToken === undefined)
    throw badParameter('mode', `the API server takes no tokens of the issuer here (kubernetes.credentials); ${certificateInstead}`);
  return token;
}
