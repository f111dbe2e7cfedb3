import { cookieNames } from '@atrium/http/cookies/cookies.ts';
import { SharedBound } from '@atrium/http/limits/shared-bound.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { AccessReviews } from '@atrium/kubernetes/access.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { LongRequests } from '@atrium/kubernetes/rbac/long-requests.ts';
import { RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import type { Logger } from 'pino';
import { Audit } from '../../src/audit/audit.ts';
import { parseConfig } from '../../src/config/load.ts';
import { KeyRing } from '../../src/keys/key-ring.ts';
import type { Services } from '../../src/services.ts';
import { keptSigningKeys } from './kept-keys.ts';

/** Returns the services that a feature gets, for a test of a part of one. No service is started. */
export function servicesOf(apiServer: KubernetesClient, { log, ...overrides }: { log: Logger } & Partial<Services>): Services {
  const { config = parseConfig({ yaml: '{}' }) } = overrides;
  const metrics = new Metrics();
  const client = apiServer.asService;
  const namespace = 'atrium-system';
  const now = () => new Date();
  const access = new AccessReviews({ apiServer, accessCacheMs: config.kubernetes.accessCache, metrics, now });
  const rbac = new RbacWatch({ client, metrics, log }, { onChange: () => access.clear() });
  return {
    config,
    basePath: '',
    cookies: cookieNames(config.server.publicURL),
    namespace,
    log,
    metrics,
    audit: new Audit({ log, write: () => undefined, events: undefined, now }),
    auditIntake: undefined,
    now,
    clock: () => performance.now(),
    apiServer,
    client,
    access,
    keyRing: new KeyRing({ client, namespace, secretName: 'atrium-keys', log, newSigningKeys: keptSigningKeys }),
    rbac,
    pages: new SharedBound({ maxBytes: 2 ** 20, lifetimeMs: 60_000 }),
    longRequests: new LongRequests({ access, rbac, now }),
    ...overrides,
  };
}
