/** Wiring of the checkpoints, the removal of expired events, and the operations that prove the audit. */
import type { AuditDatabase, AuditStore } from '@atrium/audit-store/store.ts';
import type { Feature, Services } from '../services.ts';
import { AuditChain } from './chain.ts';
import { type CheckpointState, Checkpoints } from './checkpoints.ts';
import { Retention } from './retention.ts';
import { chainOperations } from './routes.ts';

interface Stores {
  /** Undefined for an installation that keeps no events. */
  auditStore: AuditStore | undefined;
  /** The store, if this process owns it. */
  owned: AuditDatabase | undefined;
}

interface AuditChainFeature extends Feature {
  /** Returns the state of the checkpoints. Undefined for an installation that keeps no events. */
  checkpointState: (() => CheckpointState) | undefined;
}

export function createAuditChain(services: Services, { auditStore: store, owned }: Stores): AuditChainFeature {
  const retention =
    owned && new Retention({ ...services, store: owned, recordings: owned.recordings, retention: services.config.auditStore.retention });
  const checkpoints = store && new Checkpoints(services, retention?.propose ?? ((...asked) => store.propose(...asked)));
  return {
    checkpointState: checkpoints?.state,
    operations: chainOperations(services, new AuditChain(services, { store, checkpoints })),
    checks: checkpoints ? [{ name: 'auditCheckpoints', critical: false, failure: checkpoints.failure }] : [],
    start: () => checkpoints?.start(),
    async stop() {
      await checkpoints?.stop();
      await retention?.stop();
    },
  };
}
