/** Kubeconfig files for the cluster of the service: with a token, a credential plugin or a client certificate. */
import { stringify } from 'yaml';
import type { Connection } from './connection.ts';

/** The cluster as users reach it. */
export interface PublicCluster {
  server: string;
  /** PEM; '' if the system's authorities verify the server. */
  certificateAuthority: string;
}

/** A credential plugin (client.authentication.k8s.io/v1). No member is secret. */
export interface CredentialPlugin {
  command: string;
  args: readonly string[];
  /** Text that kubectl shows if the program is missing. */
  installHint: string;
}

type Credential =
  | { token: string }
  | { plugin: CredentialPlugin }
  /** PEM texts. Without the key, the file refers to `client.key` next to it. */
  | { certificate: string; key: string | undefined };

export interface KubeconfigParts extends PublicCluster {
  /** User name of the credential. */
  user: string;
  credential: Credential;
  namespace: string | undefined;
}

/** Returns the configured public address, or that of the connection, and the certificate authority of the connection. */
export const publicCluster = (connection: Connection, { publicURL }: { publicURL?: string | undefined }): PublicCluster => ({
  server: publicURL ?? connection.server,
  certificateAuthority: connection.tls.ca?.toString() ?? '',
});

const base64 = (text: string) => Buffer.from(text).toString('base64');

/**
 * Returns a kubeconfig in YAML. Its names contain the server, so that several files can be merged.
 *
 * @see https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
export function kubeconfigText({ server, certificateAuthority, user, credential, namespace }: KubeconfigParts): string {
  const { host, pathname } = new URL(server);
  const name = host + pathname.replace(/(\/api\/kubernetes)?\/?$/, '');
  const userName = `${user}/${name}`;
  const authority = certificateAuthority === '' ? {} : { 'certificate-authority-data': base64(certificateAuthority) };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, ...authority } }],
    users: [{ name: userName, user: userOf(credential) }],
    contexts: [{ name, context: { cluster: name, user: userName, ...(namespace !== undefined && { namespace }) } }],
    'current-context': name,
  });
}

function userOf(credential: Credential): Record<string, unknown> {
  if ('token' in credential) return credential;
  if ('plugin' in credential) {
    const execCredential = { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'IfAvailable', provideClusterInfo: false };
    return { exec: { ...credential.plugin, ...execCredential } };
  }
  const { certificate, key } = credential;
  const keyPart = key === undefined ? { 'client-key': 'client.key' } : { 'client-key-data': base64(key) };
  return { 'client-certificate-data': base64(certificate), ...keyPart };
}
