import { setTimeout as sleep } from 'node:timers/promises';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { HeldLock, LeaseLock } from '@atrium/kubernetes/controllers/lease-lock.ts';
import { conflict, notFound, StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import type { AuditEvent, AuditOrigin } from '../audit/audit.ts';
import type { Services } from '../services.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { userApiVersion, userResource } from '../users/record/schema.ts';
import type { Connector } from './connection.ts';
import { ConnectorSync, emptyResult, failed } from './connector-sync.ts';
import type { DirectoryUsers } from './directory-users.ts';
import { syncMetrics } from './metrics.ts';
import { type ConnectorResult, type SyncResult, syncResult } from './schema.ts';

export interface SyncRequest {
  /** Default: all connectors. */
  connectorID?: string | undefined;
  isDryRun: boolean;
  isForced: boolean;
  /** Time to wait for the end. */
  timeoutMs: number;
  /** Caller, for the audit trail. */
  origin: Partial<Pick<AuditEvent, 'actor' | 'reason' | keyof AuditOrigin>>;
}

const prefix = 'auth.platform.io';
const resultAnnotation = `${prefix}/sync-result`;
/** Start of the last synchronisation of all connectors. */
const syncedAtAnnotation = `${prefix}/synced-at`;
const scheduled = { isDryRun: false, isForced: false, timeoutMs: 0, origin: { reason: 'Scheduled' } };
const countedChanges = ['created', 'updated', 'unchanged', 'linked', 'restored', 'invalidated', 'failed'] as const;
const minPauseMs = 250;
const maxPauseMs = 60_000;
/** Reason of a directory that cannot be connected to. */
const outOfReach = 'Unreachable';

/** Synchronises users with directories, on request and on schedule. A lock allows one run at a time in the cluster. */
export class UserSync {
  readonly #services: Services;
  readonly #users: DirectoryUsers;
  readonly #accounts: AccountLookup;
  readonly #lock: LeaseLock;
  readonly #metrics: ReturnType<typeof syncMetrics>;
  readonly #stopping = new AbortController();
  readonly #runs = new Set<Promise<unknown>>();

  constructor(services: Services, users: DirectoryUsers, accounts: AccountLookup) {
    const { client, namespace, log, now } = services;
    this.#services = services;
    this.#metrics = syncMetrics(services.metrics);
    this.#users = users;
    this.#accounts = accounts;
    this.#lock = new LeaseLock({ client, namespace, name: 'atrium-user-sync', log, now });
  }

  start(): void {
    const { config, log } = this.#services;
    const { ldap, sync } = config.users;
    for (const { id: connector } of ldap) for (const outcome of ['success', 'failure']) this.#metrics.runs.inc({ connector, outcome }, 0);
    if (ldap.length > 0 && sync.schedule !== undefined) void this.#track(this.#keepSchedule(sync.schedule));
    for (const { id, url, startTLS } of ldap)
      if (url.startsWith('ldap:') && !startTLS)
        log.warn({ connector: id }, 'directory receives passwords without encryption: use ldaps or startTLS');
  }

  /** Interrupts the runs of this replica. The next run completes their work. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await Promise.allSettled(this.#runs);
  }

  /**
   * Starts a synchronisation, and waits `timeoutMs` for its end.
   *
   * @returns the result, or the started run if it continues after the timeout
   * @throws StatusError 404 for an unknown connector, 409 while another runs, 503
   */
  async run(request: SyncRequest, signal: AbortSignal): Promise<SyncResult> {
    const connectors = this.#connectorsOf(request.connectorID);
    const started = this.#begun(request);
    if (connectors.length === 0) return { ...started, state: 'Completed', finishedAt: started.startedAt };
    requireAccounts(this.#accounts);
    const held = await this.#lock.take(signal);
    if (!(held instanceof HeldLock)) throw conflict(userResource, 'sync', 'another synchronisation is running', held.retryAfterSeconds);
    const finished = this.#track(this.#runHeld(held, connectors, request));
    // A failure after the timeout must not be an unhandled rejection.
    finished.catch(() => undefined);
    const timer = new AbortController();
    try {
      return await Promise.race([finished, sleep(request.timeoutMs, started, { signal: timer.signal })]);
    } finally {
      timer.abort();
    }
  }

  /** Returns the current or the last run. @throws StatusError 404 before the first, 503 */
  async last(signal: AbortSignal): Promise<SyncResult> {
    const { isHeld, notes } = await this.#lock.look(signal);
    const result = resultOf(notes[resultAnnotation]);
    if (result === undefined) throw notFound(userResource, 'sync');
    return result.state === 'Running' && !isHeld ? { ...result, state: 'Interrupted' } : result;
  }

  async #runHeld(held: HeldLock, connectors: readonly Connector[], request: SyncRequest): Promise<SyncResult> {
    const signal = AbortSignal.any([held.signal, this.#stopping.signal]);
    const begun = this.#begun(request);
    const isWhole = request.connectorID === undefined && !request.isDryRun;
    let result: SyncResult = begun;
    try {
      await held.note({ [resultAnnotation]: JSON.stringify(begun) });
      const results: ConnectorResult[] = [];
      for (const connector of connectors) {
        results.push(await this.#sync(connector, request, signal));
        result = { ...begun, connectors: results };
      }
      result = { ...result, state: 'Completed', finishedAt: timestamp(this.#services.now()) };
      await this.#users.waitForWrite(signal);
    } catch (error) {
      result = { ...result, state: 'Interrupted', finishedAt: timestamp(this.#services.now()) };
      this.#services.log.warn({ err: error }, 'synchronisation aborted');
      throw error instanceof StatusError ? error : serviceUnavailable('kubernetes', { cause: error });
    } finally {
      this.#report(result, request);
      const isDone = result.state === 'Completed' && isWhole;
      await held.end({ [resultAnnotation]: JSON.stringify(result), ...(isDone && { [syncedAtAnnotation]: begun.startedAt }) });
    }
    if (result.connectors.every(isUnreachable)) throw serviceUnavailable('directory', { retryAfterSeconds: 10 });
    return result;
  }

  async #sync(connector: Connector, { isDryRun, isForced }: SyncRequest, signal: AbortSignal): Promise<ConnectorResult> {
    const { config, log } = this.#services;
    // The LDAP library is loaded when it is first needed.
    const [{ withListing }, { DirectoryError }] = await Promise.all([import('./listing.ts'), import('./connection.ts')]);
    const rules = { isDryRun, isForced, maxInvalidPercent: config.users.sync.maxInvalidPercent };
    try {
      const result = await withListing(
        connector,
        (listing) => new ConnectorSync(this.#users, connector, { rules, signal }).run(listing),
        signal,
      );
      const { errors, warnings, ...counts } = result;
      log.info(
        { ...counts, isDryRun, reason: errors[0]?.reason, warnings: [...new Set(warnings.map(({ reason }) => reason))] },
        'directory synchronised',
      );
      return result;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof DirectoryError)) throw error;
      log.warn({ connector: connector.id, reason: error.reason, err: error }, 'directory could not be read');
      return failed(emptyResult(connector), { reason: error.reason, message: error.message });
    }
  }

  /** Records an audit event for each run. A dry run changes no record, and is not recorded. */
  #report(result: SyncResult, { isDryRun, origin }: SyncRequest): void {
    if (isDryRun) return;
    const { state, connectors } = result;
    this.#count(result);
    const failure = connectors.find(({ status }) => status === 'Failed')?.errors[0]?.reason ?? (state === 'Completed' ? undefined : state);
    this.#services.audit.record({
      ...origin,
      audit: 'UsersSynced',
      outcome: failure === undefined ? 'success' : 'failure',
      ...(failure !== undefined && { reason: failure }),
    });
  }

  #count(result: SyncResult): void {
    for (const { connector_id: connector, status, ...counts } of result.connectors) {
      this.#metrics.runs.inc({ connector, outcome: status === 'Success' ? 'success' : 'failure' });
      for (const change of countedChanges) this.#metrics.users.inc({ connector, change }, counts[change]);
    }
    this.#noteSuccess(result);
  }

  /** Keeps the time of the last success, also of runs on other replicas. Other connectors in the Lease make no labels. */
  #noteSuccess({ dryRun, state, finishedAt = '', connectors }: SyncResult): void {
    if (dryRun || state !== 'Completed') return;
    const { config } = this.#services;
    const seconds = Date.parse(finishedAt) / 1000;
    for (const { connector_id: connector, status } of connectors)
      if (status === 'Success' && config.users.ldap.some(({ id }) => id === connector)) this.#metrics.success.set({ connector }, seconds);
  }

  /** Checks from time to time whether a run is due, on every replica. The replica that finds a run due takes the lock. */
  async #keepSchedule(scheduleMs: number): Promise<void> {
    const { signal } = this.#stopping;
    const { log } = this.#services;
    const lock = this.#lock;
    const pauseMs = Math.min(maxPauseMs, Math.max(minPauseMs, scheduleMs / 10));
    const isDue = (notes: Readonly<Record<string, string>>) => {
      const lastMs = Date.parse(notes[syncedAtAnnotation] ?? '');
      return Number.isNaN(lastMs) || this.#services.now().getTime() - lastMs >= scheduleMs;
    };
    for (;;) {
      await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        const { isHeld, notes } = await lock.look(signal);
        const last = resultOf(notes[resultAnnotation]);
        if (last !== undefined) this.#noteSuccess(last);
        if (isHeld || !isDue(notes) || !this.#accounts.watch.isSynced) continue;
        const held = await lock.take(signal);
        if (!(held instanceof HeldLock)) continue;
        // Another replica may have completed the run meanwhile.
        if (isDue(held.notes)) await this.#runHeld(held, this.#services.config.users.ldap, scheduled);
        else await held.end();
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'scheduled synchronisation failed');
      }
    }
  }

  #connectorsOf(id: string | undefined): readonly Connector[] {
    const { ldap } = this.#services.config.users;
    const chosen = id === undefined ? ldap : ldap.filter((connector) => connector.id === id);
    if (id !== undefined && chosen.length === 0) throw notFound({ group: '', resource: 'connectors' }, id);
    return chosen;
  }

  #begun({ isDryRun }: Pick<SyncRequest, 'isDryRun'>): SyncResult {
    const startedAt = timestamp(this.#services.now());
    return { apiVersion: userApiVersion, kind: 'UserSyncResult', dryRun: isDryRun, state: 'Running', startedAt, connectors: [] };
  }

  #track<T>(run: Promise<T>): Promise<T> {
    this.#runs.add(run);
    run.catch(() => undefined).finally(() => this.#runs.delete(run));
    return run;
  }
}

const isUnreachable = ({ status, errors }: ConnectorResult): boolean => status === 'Failed' && errors[0]?.reason === outOfReach;

function resultOf(text: string | undefined): SyncResult | undefined {
  try {
    return syncResult.safeParse(JSON.parse(text ?? '')).data;
  } catch {
    return undefined;
  }
}
