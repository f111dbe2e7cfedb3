/**
 * Standing access: who holds which role for good, and when each binding was last used. A right without a seen use may still be in use:
 * reads are not recorded, and requests straight to the API server are seen with its webhook alone.
 */
import type { AuditStore } from '@atrium/audit-store/store.ts';
import type { Operation } from '@atrium/http/operation.ts';
import type { ExplorerNeeds } from '../explorer/rights.ts';
import type { Services } from '../services.ts';
import { standingOperations } from './routes.ts';
import { StandingAccess } from './service.ts';

/** @param store undefined for an installation that keeps no events */
export const createStandingAccess = (
  services: Services,
  needs: ExplorerNeeds,
  store: AuditStore | undefined,
): { operations: Operation[] } => ({
  operations: services.config.features.explorer ? standingOperations(services, new StandingAccess({ services, ...needs }, store)) : [],
});
