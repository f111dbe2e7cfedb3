/** What the wiring gives every feature. A feature is `create…(services, …)`, and names what else it needs. */
import type { Logger } from 'pino';
import type { Config } from './config/schema.ts';
import type { Audit } from './http/audit.ts';
import type { CookieNames } from './http/cookies.ts';
import type { Metrics } from './http/metrics.ts';
import type { KeyRing } from './keys/key-ring.ts';
import type { AccessReviews } from './kubernetes/access.ts';
import type { KubernetesClient, ServiceClient } from './kubernetes/kubernetes-client.ts';
import type { RbacWatch } from './rbac/watch.ts';

export interface Services {
  readonly config: Config;
  /** The path below which everything is served: '' or without its last slash. */
  readonly basePath: string;
  readonly cookies: CookieNames;
  /** The namespace of our own objects: `kubernetes.namespace`, or that of our account. */
  readonly namespace: string;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly audit: Audit;
  /** The time of the API server: replicas compare the times that they write for each other. Code of a room has no other clock. */
  readonly now: () => Date;
  /** Milliseconds that only ever grow. */
  readonly clock: () => number;
  /** The way to the API server as the caller. */
  readonly apiServer: KubernetesClient;
  /** The way to the API server as ourselves. */
  readonly client: ServiceClient;
  readonly access: AccessReviews;
  readonly keyRing: KeyRing;
  readonly rbac: RbacWatch;
}
