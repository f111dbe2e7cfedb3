/** `atrium sweep`: ends the access that has reached its end, once. For times when no replica runs. */
import type { Connection } from '@atrium/kubernetes/connection.ts';
import type { Logger } from 'pino';
import { createAccessEnds } from './access-requests/access-requests.ts';
import { isOpen, type RequestRow } from './access-requests/request.ts';
import { createBase } from './base.ts';
import { createBindings } from './bindings/bindings.ts';
import type { UserBindingRow } from './bindings/row.ts';
import { bindingFinalizer } from './bindings/schema.ts';
import { ConfigError } from './config/load.ts';
import type { Config } from './config/schema.ts';

/** Bound of a sweep, below the five minutes between two of them. The Lease of a replica that was killed must expire first. */
const sweepWithinMs = 240_000;

interface SweepOptions {
  config: Config;
  connection: Connection;
  log: Logger;
  writeAudit: (line: string) => unknown;
}

/**
 * Lets the controllers work until nothing is due. While a replica leads, the sweep only watches it.
 *
 * @returns a sentence about the result
 * @throws ConfigError; Error if something is still due after four minutes
 */
export async function runSweep(options: SweepOptions): Promise<string> {
  const signal = AbortSignal.timeout(sweepWithinMs);
  const { services, watchedAccess, userBindings, remoteStore, ends } = createSwept(options);
  const [requests, bindings] = [watchedAccess.requests.cache, userBindings.collection.cache];
  const dueAt = (at: number, rows: Iterable<UserBindingRow> = bindings.values()) =>
    dueEnds({ requests: requests.values(), bindings: rows }, at);
  for (const cache of [requests, bindings]) cache.start();
  try {
    await Promise.all([requests, bindings].map((cache) => cache.whenSynced(signal)));
    const at = services.now().getTime();
    const found = dueAt(at);
    // Without work the sweep takes no Lease, for which replicas that start would wait.
    if (found.length === 0) return 'no access has reached its end';
    for (const part of ends) part.start();
    // The end is written to the request, and then its UserBinding is deleted.
    await requests.until(() => dueAt(at, []).length === 0, sweepWithinMs, signal);
    await bindings.until(() => dueAt(at).length === 0, sweepWithinMs, signal);
    const left = dueAt(at);
    if (left.length > 0) throw new Error(`access has not ended: ${left.join(', ')}; the log names the reason`);
    return `access has ended: ${found.join(', ')}`;
  } finally {
    for (const part of ends.toReversed()) await part.stop();
    await Promise.all([requests, bindings].map((cache) => cache.stop()));
    await services.auditIntake?.stop();
    await remoteStore?.stop();
    await services.apiServer.close();
  }
}

/** Creates the controllers that end access, and the watches that they need, in the order of their start. */
function createSwept(options: SweepOptions) {
  // A run without a directory of its own keeps its few events in memory.
  const config = { ...options.config, audit: { ...options.config.audit, spool: undefined } };
  const base = createBase({ ...options, config, environment: {} });
  const { services, accounts, localGroups, watched, watchedGroups, watchedAccess, userBindings, remoteStore } = base;
  if (watchedAccess === undefined || userBindings === undefined)
    throw new ConfigError([{ path: 'features.accessRequests', message: 'access requests are turned off, so that no access can end' }]);
  const groups = watchedGroups?.collection.cache;
  const sources = { accounts, localGroups, groups };
  const ends = [
    services.rbac,
    watched.collection,
    ...(groups ? [groups] : []),
    watchedAccess.policies,
    createBindings(services, userBindings, sources),
    createAccessEnds(services, watchedAccess, { ...sources, userBindings: userBindings.collection.cache }),
  ];
  return { services, watchedAccess, userBindings, remoteStore, ends };
}

/** Watched requests and UserBindings. */
interface Followed {
  readonly requests: Iterable<Pick<RequestRow, 'name' | 'phase' | 'until'>>;
  readonly bindings: Iterable<Pick<UserBindingRow, 'name' | 'request' | 'expiresAt' | 'phase' | 'isDeleted' | 'finalizers'>>;
}

/**
 * Returns the names of requests and UserBindings whose access has reached its end at that time and still exists.
 *
 * @param at milliseconds since 1970
 */
function dueEnds({ requests, bindings }: Followed, at: number): string[] {
  const due: string[] = [];
  const over = new Set<string>();
  for (const row of requests) {
    if (!isOpen(row)) over.add(row.name);
    else if (row.until <= at) due.push(row.name);
  }
  for (const { name, request, expiresAt = Number.POSITIVE_INFINITY, phase, isDeleted, finalizers } of bindings) {
    const isExpired = expiresAt <= at && phase !== 'Expired';
    const isOver = isExpired || (request !== undefined && over.has(request.name));
    // The RBAC is gone with our finalizer. Finalizers of others may keep the UserBinding longer.
    if (isDeleted ? finalizers.includes(bindingFinalizer) : isOver) due.push(name);
  }
  return due;
}
