/** Programs that give kubectl its tokens, as a kubeconfig names them. */
import type { CredentialPlugin } from '../kubernetes/kubeconfig-text.ts';

/** A login at an issuer, by a public client. */
export interface PluginLogin {
  issuer: string;
  clientID: string;
  scopes: readonly string[];
  /** PEM in Base64; undefined if the system's authorities verify the issuer. */
  authority?: string | undefined;
  /** Address of the console, which has the program `kubectl-atrium`. */
  consoleURL: string;
}

/** Returns the plugin `kubectl-atrium`. */
export const atriumPlugin = ({ issuer, clientID, scopes, authority, consoleURL }: PluginLogin): CredentialPlugin => ({
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
export const kubelogin = ({ issuer, clientID, scopes, authority }: PluginLogin): CredentialPlugin => ({
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
