/** Kubeconfig files, with which users work on the cluster from a terminal. */
import type { Caller } from '@atrium/http/caller.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { type CredentialPlugin, kubeconfigText } from '@atrium/kubernetes/kubeconfig-text.ts';
import { badParameter, badRequest } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { commandLineOf, type IssuerConfig, issuersOf } from '../config/issuers.ts';
import type { Config } from '../config/schema.ts';
import { type CredentialUse, consoleURLOf, issuerAuthority, serverOf } from './kubeconfig-server.ts';

/** A login at an issuer, by a public client. */
interface PluginLogin {
  issuer: string;
  clientID: string;
  scopes: readonly string[];
  /** PEM in Base64; undefined if the system's authorities verify the issuer. */
  authority?: string | undefined;
  /** Address of the console, which has the program `kubectl-atrium`. */
  consoleURL: string;
}

/** Returns the plugin `kubectl-atrium`. */
const atriumPlugin = ({ issuer, clientID, scopes, authority, consoleURL }: PluginLogin): CredentialPlugin => ({
  command: 'kubectl-atrium',
  args: [
    'token',
    `--issuer=${issuer}`,
    `--client-id=${clientID}`,
    `--scopes=${scopes.join(' ')}`,
    ...(authority === undefined ? [] : [`--ca-data=${authority}`]),
  ],
  installHint: `kubectl-atrium is not in PATH. It is one file, for Node.js 20.18 or later: ${consoleURL}/kubeconfig says how to install it.`,
});

/**
 * Returns the plugin kubelogin, which asks for `openid` itself.
 *
 * @see https://github.com/int128/kubelogin/blob/master/docs/usage.md
 */
const kubelogin = ({ issuer, clientID, scopes, authority }: PluginLogin): CredentialPlugin => ({
  command: 'kubectl',
  args: [
    'oidc-login',
    'get-token',
    `--oidc-issuer-url=${issuer}`,
    `--oidc-client-id=${clientID}`,
    ...scopes.filter((scope) => scope !== 'openid').map((scope) => `--oidc-extra-scope=${scope}`),
    ...(authority === undefined ? [] : [`--certificate-authority-data=${authority}`]),
  ],
  installHint: 'kubelogin is not installed: kubectl krew install oidc-login',
});

const example = kubeconfigText({
  server: 'https://api.example.com:6443',
  certificateAuthority: '-----BEGIN CERTIFICATE-----\n…',
  user: 'jane@example.com',
  credential: {
    plugin: atriumPlugin({
      issuer: 'https://console.example.com/identity',
      clientID: 'kubectl',
      scopes: ['openid', 'email', 'groups'],
      consoleURL: 'https://console.example.com',
    }),
  },
  namespace: 'shop',
});

const kubeconfigFile = z.string().meta({ examples: [example] });

/** The feature: its operation. */
export function createKubeconfig(facts: KubeconfigFacts): { operations: Operation[] } {
  const getKubeconfig = operation({
    id: 'GetKubeconfig',
    method: 'GET',
    paths: ['/auth/v1/kubeconfig'],
    tag: 'users',
    summary: 'Returns a kubeconfig that logs in by a program and contains no secret, or that contains the token of this request',
    credential: 'required',
    query: kubeconfigQuery,
    answers: {
      200: {
        description: 'A kubeconfig, v1.',
        content: { 'application/yaml': kubeconfigFile },
        headers: { 'Content-Disposition': 'attachment; filename="kubeconfig.yaml"' },
      },
      400: {
        description: 'The server in the file would refuse the credential, the request has no token, or the issuer does not exist.',
      },
    },
    async handle({ ctx, caller, query }) {
      const text = await kubeconfigFor(facts, query, caller);
      ctx.set('Content-Disposition', 'attachment; filename="kubeconfig.yaml"');
      ctx.type = 'application/yaml; charset=utf-8';
      ctx.body = text;
    },
  });
  return { operations: facts.config.features.kubeconfig ? [getKubeconfig] : [] };
}

const kubeconfigQuery = z.object({
  mode: z
    .enum(['exec', 'oidc-login', 'token'], {
      error: 'must be exec, oidc-login or token; POST /auth/v1/authorize returns a file with a client certificate',
    })
    .default('exec')
    .describe(
      '`exec`: the program kubectl-atrium gets tokens. `oidc-login`: kubelogin gets tokens. `token`: the kubeconfig contains the bearer token of this request.',
    ),
  via: z
    .enum(['cluster', 'console'], { error: 'must be cluster or console' })
    .optional()
    .describe(
      'Server in the file: `cluster` is the API server, `console` is `/api/kubernetes` of this service. Default: the API server if it accepts the token, else the console.',
    ),
  namespace: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a DNS label')
    .optional()
    .describe('Namespace of the context in the file.'),
  issuer: z
    .string()
    .optional()
    .describe('Id of the issuer for logins, except with `mode=token`. Default: the issuer of the caller, or the first one.'),
});

type KubeconfigQuery = z.output<typeof kubeconfigQuery>;

/** Dependencies of the kubeconfig files. */
interface KubeconfigFacts {
  config: Config;
  connection: Connection;
  /** Returns the issuer whose account names the user of that record. */
  namingIssuer(user: string): IssuerConfig | undefined;
}

/**
 * Returns a kubeconfig as YAML.
 *
 * @throws StatusError 400 if the file would not work; 503 if the certificate authority of the issuer cannot be read
 */
async function kubeconfigFor(
  facts: KubeconfigFacts,
  { mode, via, namespace, issuer: id }: KubeconfigQuery,
  caller: Caller,
): Promise<string> {
  const { config, namingIssuer } = facts;
  const { name } = caller.identity;
  if (mode === 'token') {
    if (id !== undefined) throw badParameter('issuer', 'is not for mode=token: the token of this request is of the issuer that gave it');
    const token = tokenOf(caller);
    const server = await serverOf(facts, via, { atCluster: atClusterOf(caller) });
    return kubeconfigText({ ...server, user: name, credential: { token }, namespace });
  }
  const own = issuerOfCaller(config, namingIssuer, caller);
  const issuer = id === undefined ? (own ?? issuersOf(config)[0]) : issuerNamed(config, id);
  if (issuer === undefined) throw badRequest('login is not configured');
  const server = await serverOf(facts, via, loginUse(config, issuer));
  const login = await pluginLogin(config, issuer);
  // Users have another name at another issuer, which is unknown here.
  const user = id === undefined || issuer === own ? name : id;
  const plugin = mode === 'exec' ? atriumPlugin(login) : kubelogin(login);
  return kubeconfigText({ ...server, user, credential: { plugin }, namespace });
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

/** Returns where an ID token of the issuer's command-line client is accepted. */
function loginUse(config: Config, issuer: IssuerConfig): CredentialUse {
  const { credentials = issuer.isEmbedded ? 'impersonate' : 'passthrough' } = config.kubernetes;
  const { clientID } = commandLineOf(config, issuer);
  const isTrusted = clientID === issuer.clientID || issuer.audiences.includes(clientID);
  return {
    atCluster: credentials === 'impersonate' ? 'no' : 'yes',
    refusedHere: isTrusted ? undefined : `login.audiences does not name ${clientID}, the client of login.cli`,
  };
}

async function pluginLogin(config: Config, settings: IssuerConfig): Promise<PluginLogin> {
  const authority = await issuerAuthority(settings);
  return {
    issuer: settings.issuer,
    ...commandLineOf(config, settings),
    consoleURL: consoleURLOf(config),
    ...(authority !== undefined && { authority: Buffer.from(authority).toString('base64') }),
  };
}

/** @throws StatusError 400 for a session, whose tokens are never shown */
function tokenOf({ token, session }: Caller): string {
  if (session !== undefined) throw badParameter('mode', 'token needs an Authorization header: a session hands out no tokens');
  return token;
}

function atClusterOf({ actAs, accessToken }: Caller): CredentialUse['atCluster'] {
  if (actAs === undefined) return 'yes';
  return accessToken === undefined ? 'no' : 'perhaps';
}
