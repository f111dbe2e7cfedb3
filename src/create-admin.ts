/** `atrium create-admin`: creates the first administrator of an installation, once. */

import { embeddedIssuerOf, embeddedLoginOf, identityURLOf } from './config/issuers.ts';
import { ConfigError } from './config/load.ts';
import type { Config } from './config/schema.ts';
import type { Connection } from './kubernetes/connection.ts';
import { KubernetesClient } from './kubernetes/kubernetes-client.ts';
import { Metrics } from './telemetry/metrics.ts';
import { createFirstAdmin } from './users/passwords/first-admin.ts';

interface CreateAdminOptions {
  config: Config;
  connection: Connection;
  email: string;
  /** Display name. */
  name: string;
  /** Password; if undefined, a random one is stored in the Secret. */
  password: string | undefined;
  /** Name of the Secret. */
  secret: string;
}

/** @returns a sentence about the result; @throws ConfigError, FirstAdminError */
export async function runCreateAdmin({ config, connection, email, name, password, secret }: CreateAdminOptions): Promise<string> {
  if (identityURLOf(config) === undefined)
    throw new ConfigError([
      { path: 'identity.enabled', message: 'the embedded provider, where an administrator logs in, is off or lacks server.publicURL' },
    ]);
  const namespace = config.kubernetes.namespace ?? connection.namespace ?? 'default';
  const apiServer = new KubernetesClient({ connection, requestTimeoutMs: config.kubernetes.requestTimeout, metrics: new Metrics() });
  try {
    const naming = { claims: embeddedLoginOf(config).claims, embeddedIssuer: embeddedIssuerOf(config) };
    const options = { client: apiServer.asService, namespace, config, naming, email, displayName: name, password, secretName: secret };
    const outcome = await createFirstAdmin(options);
    if (outcome === 'exists') return `the administrator ${email} exists already; nothing was changed`;
    if (outcome === 'removed')
      return `the administrator ${email} was removed; nothing was changed: to make a new one, remove the Secret ${secret} first`;
    if (outcome === 'another')
      return `the first administrator was made before, as the Secret ${secret} tells; nothing was changed for ${email}`;
    if (password !== undefined) return `the administrator ${email} was made, with the password of the file`;
    return `the administrator ${email} was made; the password, to be changed at the first login, is in the Secret ${namespace}/${secret}`;
  } finally {
    await apiServer.close();
  }
}
