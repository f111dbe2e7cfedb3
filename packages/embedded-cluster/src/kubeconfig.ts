/** The file by which kubectl and the client libraries find a cluster. */

import { stringify } from 'yaml';

export interface KubeconfigInput {
  server: string;
  /** PEM. */
  certificateAuthority: string;
  token: string;
}

/** YAML with one cluster, one user and one context. */
export function kubeconfigText({ server, certificateAuthority, token }: KubeconfigInput): string {
  const name = 'atrium';
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}
