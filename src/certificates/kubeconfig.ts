import { stringify } from 'yaml';

interface KubeconfigParts {
  server: string;
  /** PEM, '' where the system's authorities verify the server. */
  certificateAuthority: string;
  user: string;
  /** PEM */
  certificate: string;
  /** PEM; without it the file names `client.key` beside it. */
  key: string | undefined;
  namespace: string | undefined;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** YAML of a file for kubectl. @see https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ */
export function kubeconfigText({ server, certificateAuthority, user, certificate, key, namespace }: KubeconfigParts): string {
  const name = 'cluster';
  const authority = certificateAuthority === '' ? {} : { 'certificate-authority-data': base64(certificateAuthority) };
  const keyPart = key === undefined ? { 'client-key': 'client.key' } : { 'client-key-data': base64(key) };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, ...authority } }],
    users: [{ name: user, user: { 'client-certificate-data': base64(certificate), ...keyPart } }],
    contexts: [{ name, context: { cluster: name, user, ...(namespace !== undefined && { namespace }) } }],
    'current-context': name,
  });
}
