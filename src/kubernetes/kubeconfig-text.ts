/** Files for kubectl that name the cluster of the service: for a token, for a program that makes tokens, for a client certificate. */
import { stringify } from 'yaml';
import type { Config } from '../config/schema.ts';
import type { Connection } from './connection.ts';

/** The cluster as people reach it. */
export interface PublicCluster {
  server: string;
  /** PEM, '' where the system's authorities verify the server. */
  certificateAuthority: string;
}

/** A program that makes the credential (client.authentication.k8s.io/v1); nothing in it is secret. */
export interface CredentialPlugin {
  command: string;
  args: readonly string[];
  /** What kubectl says where the program is missing. */
  installHint: string;
}

export type Credential =
  | { token: string }
  | { plugin: CredentialPlugin }
  /** PEM texts; without the key the file names `client.key` beside it. */
  | { certificate: string; key: string | undefined };

export interface KubeconfigParts extends PublicCluster {
  /** The user name that the credential stands for. */
  user: string;
  credential: Credential;
  namespace: string | undefined;
}

/** The address that is configured for people, or the one used here, and the certificate authority used here. */
export const publicCluster = (connection: Connection, { publicURL }: Config['kubernetes']): PublicCluster => ({
  server: publicURL ?? connection.server,
  certificateAuthority: connection.tls.ca?.toString() ?? '',
});

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** YAML. Its names hold the server's, so that several such files can be merged. @see https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ */
export function kubeconfigText({ server, certificateAuthority, user, credential, namespace }: KubeconfigParts): string {
  const name = new URL(server).host;
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
