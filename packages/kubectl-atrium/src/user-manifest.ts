/** `users create --dry-run`: a User for a repository from which a GitOps tool applies it. */
import { recordName } from './record-name.ts';
import type { NewUser } from './users.ts';

export interface ManifestOptions {
  output: 'yaml' | 'json';
  /** True for a user of another issuer. */
  external?: true;
}

const local = { connector_type: 'local', connector_id: 'local', connector_name: 'Local' };

/**
 * Returns the manifest of a User. The first login of an external user writes the connector: a GitOps tool that applied another one would
 * fight with the service, and be refused by the admission policy.
 */
export function userManifest({ email, username = email }: NewUser, { output, external }: ManifestOptions): string {
  const user = {
    apiVersion: 'auth.platform.io/v1',
    kind: 'User',
    metadata: { name: recordName(email) },
    spec: { email, username, ...(!external && local) },
  };
  if (output === 'json') return `${JSON.stringify(user, undefined, 2)}\n`;
  const { metadata, spec, ...type } = user;
  return `${yamlOf(type)}metadata:\n${yamlOf(metadata, '  ')}spec:\n${yamlOf(spec, '  ')}`;
}

/** Every JSON string is a YAML string. Without quotes, a name of digits would be a number. */
const yamlOf = (texts: Record<string, string>, indent = ''): string =>
  Object.entries(texts)
    .map(([key, text]) => `${indent}${key}: ${JSON.stringify(text)}\n`)
    .join('');
