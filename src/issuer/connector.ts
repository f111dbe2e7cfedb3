import { z } from 'zod';
import type { Login } from '../users/logins/recorder.ts';
import type { VerifiedClaims } from './types.ts';

/** As Dex tells where a person came from: one of several sources behind one issuer. */
const federatedClaims = z.object({ connector_id: z.string().min(1), user_id: z.string().default('') });

/** The embedded issuer's own users; no other issuer's, whatever it says of them: administrators are among these. */
const local = { type: 'local', id: 'local', name: 'Local' };

export interface ConnectorRules {
  /** Whether the issuer is our own. */
  isEmbedded: boolean;
  /** Those whose users log in at the embedded issuer too. */
  directories: readonly { id: string; name: string }[];
}

/** The source of a person, and their identity there. */
export function connectorOf(claims: VerifiedClaims, { isEmbedded, directories }: ConnectorRules): Pick<Login, 'connector' | 'linkedID'> {
  const federated = federatedClaims.safeParse(claims.federated_claims).data;
  if (isEmbedded) {
    const directory = directories.find(({ id }) => id === federated?.connector_id);
    return { connector: directory ? { type: 'ldap', id: directory.id, name: directory.name } : local };
  }
  const id = federated === undefined || federated.connector_id === local.id ? 'oidc' : federated.connector_id;
  return { connector: { type: 'oidc', id, name: id }, linkedID: { type: id.slice(0, 63), id: federated?.user_id || claims.sub } };
}
