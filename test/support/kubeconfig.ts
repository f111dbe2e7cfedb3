import { stringify } from 'yaml';
import type { ApiServer } from './api-server.ts';

/** Returns a kubeconfig file with one token. */
export function aKubeconfig({ url, certificateAuthority }: Pick<ApiServer, 'url' | 'certificateAuthority'>, token: string): string {
  const cluster = { server: url, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  });
}
