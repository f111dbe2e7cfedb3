import { z } from 'zod';
import type { Login } from '../accounts/login-recorder.ts';
import type { VerifiedClaims } from './types.ts';

/** As Dex tells where a person came from: one of several sources behind one issuer. */
const federatedClaims = z.object({ connector_id: z.string().min(1), user_id: z.string().default('') });

/** The embedded issuer's own users; no other issuer's, whatever it says of them: administrators are among these. */
const local = { type: 'local', id: 'local', name: 'Local' };

/** The source of a person, and their identity there. */
export function connectorOf(claims: VerifiedClaims, { isEmbedded }: { isEmbedded: boolean }): Pick<Login, 'connector' | 'linkedID'> {
  if (isEmbedded) return { connector: local };
  const federated = federatedClaims.safeParse(claims.federated_claims).data;
  const id = federated === undefined || federated.connector_id === local.id ? 'oidc' : federated.connector_id;
  return { connector: { type: 'oidc', id, name: id }, linkedID: { type: id.slice(0, 63), id: federated?.user_id || claims.sub } };
}
