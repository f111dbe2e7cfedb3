/** Client certificates for the Kubernetes API. RBAC on `users/authorize` decides which callers get one. */
import type { Operation } from '@atrium/http/operation.ts';
import { authorizeOperation } from './routes.ts';
import type { CertificatesContext } from './strategy.ts';

/** Creates the feature. */
export const createCertificates = (context: CertificatesContext): { operations: Operation[] } => ({
  operations: [authorizeOperation(context)],
});
