import { readFile } from 'node:fs/promises';
import { badParameter, badRequest, serviceUnavailable } from '../api/status.ts';
import { type IssuerConfig, issuersOf } from '../config/issuers.ts';
import type { Config } from '../config/schema.ts';
import type { Caller } from '../http/operation.ts';
import type { Connection } from '../kubernetes/connection.ts';
import { type Credential, type CredentialPlugin, kubeconfigText, publicCluster } from '../kubernetes/kubeconfig-text.ts';
import type { KubeconfigQuery } from './kubeconfig-schema.ts';

/** Dependencies of the kubeconfig files. */
export interface KubeconfigFacts {
  config: Config;
  connection: Connection;
  /** Returns the issuer whose account names the user of that record. */
  namingIssuer(user: string): IssuerConfig | undefined;
}

const certificateInstead = 'POST /auth/v1/authorize answers a kubeconfig with a client certificate, which it takes';

/**
 * Returns a kubeconfig for the cluster of the service, as YAML.
 *
 * @throws StatusError 400 if the file would not work; 503 if the certificate authority of the issuer cannot be read
 */
export async function kubeconfigFor(
  { config, connection, namingIssuer }: KubeconfigFacts,
  { mode, namespace, issuer: id }: KubeconfigQuery,
  caller: Caller,
): Promise<string> {
  const cluster = publicCluster(connection, config.kubernetes);
  const { name } = caller.identity;
  if (mode === 'token') {
    if (id !== undefined) throw badParameter('issuer', 'is for mode=exec: the token of this request is of the issuer that gave it');
    return kubeconfigText({ ...cluster, user: name, credential: { token: tokenOf(caller) }, namespace });
  }
  const own = issuerOfCaller(config, namingIssuer, caller);
  const issuer = id === undefined ? (own ?? issuersOf(config)[0]) : issuerNamed(config, id);
  const credential: Credential = { plugin: await pluginOf(config, issuer) };
  // Users have another name at another issuer, which is unknown here.
  const user = id === undefined || issuer === own ? name : id;
  return kubeconfigText({ ...cluster, user, credential, namespace });
}

/**
 * Returns the issuer where the caller has logged in, by verified claims alone; for an access token, the issuer whose account names its
 * user. Undefined for other credentials.
 */
function issuerOfCaller(
  config: Config,
  namingIssuer: KubeconfigFacts['namingIssuer'],
  { subject, isVerified, accessToken, user }: Caller,
): IssuerConfig | undefined {
  if (isVerified === undefined) return undefined;
  if (accessToken === undefined)
    return issuersOf(config).find(({ issuer, isEmbedded }) => (subject ? issuer === subject.issuer : isEmbedded));
  return user === undefined ? undefined : namingIssuer(user);
}

/** @throws StatusError 400 */
function issuerNamed(config: Config, id: string): IssuerConfig {
  const named = issuersOf(config).find((issuer) => issuer.id === id);
  if (named === undefined) throw badParameter('issuer', 'must be the id of an issuer');
  return named;
}

async function pluginOf({ kubernetes, login }: Config, settings: IssuerConfig | undefined): Promise<CredentialPlugin> {
  if (settings === undefined) throw badRequest('login is not configured');
  const { issuer, isEmbedded, cli } = settings;
  const { credentials = isEmbedded ? 'impersonate' : 'passthrough' } = kubernetes;
  if (credentials === 'impersonate')
    throw badParameter('mode', `the API server takes no tokens of the issuer here (kubernetes.credentials); ${certificateInstead}`);
  const { clientID = login.cli.clientID, scopes = login.cli.scopes ?? settings.scopes } = cli;
  return credentialPlugin({ issuer, clientID, scopes, authority: await issuerAuthority(settings) });
}

/** Returns the PEM in Base64. Users' machines have to trust the issuer as well. */
async function issuerAuthority({ caFile }: IssuerConfig): Promise<string | undefined> {
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
  /** PEM in Base64; undefined if the system's authorities verify the issuer. */
  authority?: string | undefined;
}

/** Returns the plugin with which kubectl gets tokens of that issuer. */
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

/** Returns the token. Refuses a token that the API server would not accept, because the file would only fail later. */
function tokenOf({ token, session, actAs, accessToken }: Caller): string {
  if (session !== undefined) throw badParameter('mode', 'token needs an Authorization header: a session hands out no tokens');
  if (actAs !== undefined && accessToken === undefined)
    throw badParameter('mode', `the API server takes no tokens of the issuer here (kubernetes.credentials); ${certificateInstead}`);
  return token;
}
