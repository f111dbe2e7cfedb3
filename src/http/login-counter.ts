import type { Metrics } from '../telemetry/metrics.ts';
import type { AuditEvent } from './audit.ts';

interface CountedIssuer {
  readonly id: string;
  readonly isEmbedded: boolean;
}

/** Returns a function that counts logins, renewals and lock-outs by their audit events. */
export function loginCounter(metrics: Metrics, issuers: readonly CountedIssuer[]): (event: AuditEvent) => void {
  const embedded = issuers.find(({ isEmbedded }) => isEmbedded)?.id ?? 'local';
  metrics.expectLogins(issuers.map(({ id }) => id));
  return ({ audit, outcome, issuer = embedded }) => {
    if (audit === 'LoginSucceeded' || audit === 'LoginFailed' || audit === 'FactorFailed') metrics.logins.inc({ issuer, outcome });
    else if (audit === 'TokenRefreshed' || audit === 'RefreshFailed') metrics.renewals.inc({ outcome });
    else if (audit === 'UserLocked') metrics.lockouts.inc();
  };
}
