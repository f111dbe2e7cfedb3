/** Features, and the services for all of them. A feature is `create…(services, …)`, and names its further dependencies. */
import type { Caller } from '@atrium/http/caller.ts';
import type { CookieNames } from '@atrium/http/cookies/cookies.ts';
import type { Check } from '@atrium/http/health.ts';
import type { SharedBound } from '@atrium/http/limits/shared-bound.ts';
import type { Operation } from '@atrium/http/operation.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import type { AccessReviews } from '@atrium/kubernetes/access.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { LongRequests } from '@atrium/kubernetes/rbac/long-requests.ts';
import type { RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import type { Logger } from 'pino';
import type { Audit } from './audit/audit.ts';
import type { AuditIntake } from './audit/audit-intake.ts';
import type { Config } from './config/schema.ts';
import type { KeyRing } from './keys/key-ring.ts';

export interface Services {
  readonly config: Config;
  /** Base path of all operations: '' or without a trailing slash. */
  readonly basePath: string;
  readonly cookies: CookieNames;
  /** Namespace of the service's own objects: `kubernetes.namespace`, or that of its account. */
  readonly namespace: string;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly audit: Audit;
  /** Takes events of requests that are passed on. Undefined without a store. */
  readonly auditIntake: AuditIntake | undefined;
  /** Time of the API server, because replicas compare each other's timestamps. Features have no other clock. */
  readonly now: () => Date;
  /** Monotonic clock, in milliseconds. */
  readonly clock: () => number;
  /** Client of the API server with the caller's identity. */
  readonly apiServer: KubernetesClient;
  /** Client of the API server with the service's own account. */
  readonly client: ServiceClient;
  readonly access: AccessReviews;
  readonly keyRing: KeyRing;
  readonly rbac: RbacWatch;
  /** Bound of the cached pages of all lists. */
  readonly pages: SharedBound;
  /** Long requests of all features, which end with the right of their caller. */
  readonly longRequests: LongRequests;
}

/**
 * Returns the time from which acts under the caller's name are the caller's own, in milliseconds since the epoch: a deleted user may have
 * had the name before. Returns undefined for a caller without a User record.
 */
export type OwnSince = (caller: Caller) => number | undefined;

/** A feature: its operations, checks and watches. */
export interface Feature {
  operations: Operation[];
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}
