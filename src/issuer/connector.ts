import { z } from 'zod';
import type { Login } from '../users/logins/recorder.ts';
import type { VerifiedClaims } from './types.ts';

/** Claim of Dex about the source of a user, one of several behind one issuer. */
const federatedClaims = z.object({ connector_id: z.string().min(1), user_id: z.string().default('') });

/** Source of the embedded issuer's own users. No other issuer's claim gives it, because administrators are among these users. */
const local = { type: 'local', id: 'local', name: 'Local' };

export interface ConnectorRules {
  /** True for the embedded issuer. */
  isEmbedded: boolean;
  /** Directories whose users log in at the embedded issuer. */
  directories: readonly { id: string; name: string }[];
}

/** Returns the source of a user, and the user's identity there. */
export function connectorOf(claims: VerifiedClaims, { isEmbedded, directories }: ConnectorRules): Pick<Login, 'connector' | 'sourceID'> {
  const federated = federatedClaims.safeParse(claims.federated_claims).data;
  if (isEmbedded) {
    const directory = directories.find(({ id }) => id === federated?.connector_id);
    return { connector: directory ? { type: 'ldap', id: directory.id, name: directory.name } : local };
  }
  const id = federated === undefined || federated.connector_id === local.id ? 'oidc' : federated.connector_id;
  return { connector: { type: 'oidc', id, name: id }, sourceID: { type: id.slice(0, 63), id: federated?.user_id || claims.sub } };
}
