import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { createEvent } from '../kubernetes/events.ts';
import { Lease } from '../kubernetes/lease.ts';
import { isRecord, type KubernetesObject } from '../kubernetes/resource.ts';
import { type Account, accountOf } from './account.ts';
import { conditionsOf } from './conditions.ts';
import { DeletedUsers } from './deleted-users.ts';
import type { AccountLookup } from './lookup.ts';
import { nextChangeOf, phaseOf } from './phase.ts';
import { localSubjectName, type SubjectNaming } from './subject-name.ts';
import { unfinishedEnd } from './unfinished.ts';
import { labelsToChange } from './user-labels.ts';
import { UserRecords } from './user-records.ts';
import { userApiVersion } from './user-resource.ts';

/** The API server keeps Events about objects without a namespace nowhere else. */
const eventNamespace = 'default';
const lookEveryMs = 1_000;
const retryMs = 10_000;
/** Records looked at between two turns of the event loop, and written at one time. */
const batch = 50;
const atOnce = 4;

export interface UserStatesOptions {
  client: ServiceClient;
  /** `kubernetes.namespace` */
  namespace: string;
  accounts: AccountLookup;
  records: {
    /** Of all records, as they are then. */
    names(): Iterable<string>;
    /** As it was seen last. */
    get(name: string): KubernetesObject | undefined;
    /** Tells of every one that is gone. @returns a function that ends it */
    onGone(listener: (account: Account) => void): () => void;
  };
  config: Pick<Config, 'login' | 'users'>;
  naming: SubjectNaming;
  log: Logger;
  now?: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/**
 * Keeps what the records of users say of them: phase and conditions as times pass, labels and the name that Kubernetes will see of what
 * was written with kubectl; and removes records whose making was never finished. One replica does it at a time. Nothing relies on it:
 * whether a user may log in is computed where it is asked.
 */
export class UserStates {
  readonly #options: UserStatesOptions;
  readonly #records: UserRecords;
  readonly #lease: Lease;
  readonly #now: () => Date;
  /** When to look at a record again, in milliseconds since 1970; 0 for at once. */
  readonly #due = new Map<string, number>();
  #forget: (() => void) | undefined;
  readonly #deleted: DeletedUsers;
  #forgetGone: () => void = () => undefined;

  constructor(options: UserStatesOptions) {
    this.#options = options;
    this.#records = new UserRecords(options.client);
    this.#now = options.now ?? (() => new Date());
    this.#deleted = new DeletedUsers({ ...options, now: this.#now });
    this.#lease = new Lease({ ...options, name: 'atrium-user-states' });
  }

  start(): void {
    this.#forgetGone = this.#options.records.onGone((account) => this.#deleted.see(account));
    this.#lease.start((signal) => this.#work(signal));
  }

  stop(): Promise<void> {
    this.#forgetGone();
    return this.#lease.stop();
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { accounts, records, log } = this.#options;
    log.info('this replica keeps the states of users');
    this.#forget = accounts.onChange((name) => this.#due.set(name, 0));
    for (const name of records.names()) this.#due.set(name, 0);
    const ending = this.#deleted.run(signal);
    try {
      while (!signal.aborted) {
        if (accounts.isSynced) await this.#lookAtDue(signal);
        await sleep(lookEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
      }
    } finally {
      this.#forget();
      this.#due.clear();
      await ending;
    }
  }

  async #lookAtDue(signal: AbortSignal): Promise<void> {
    const now = this.#now().getTime();
    const due = [...this.#due].filter(([, time]) => time <= now).map(([name]) => name);
    for (let start = 0; start < due.length && !signal.aborted; start += batch) {
      const names = due.slice(start, start + batch);
      await Promise.all(
        Array.from({ length: atOnce }, (_, turn) =>
          this.#lookAtEach(
            names.filter((_name, index) => index % atOnce === turn),
            signal,
          ),
        ),
      );
    }
  }

  async #lookAtEach(names: readonly string[], signal: AbortSignal): Promise<void> {
    for (const name of names) {
      if (signal.aborted) return;
      // What changes meanwhile is due again.
      this.#due.delete(name);
      try {
        const next = await this.#lookAt(name, signal);
        if (next !== undefined && !this.#due.has(name)) this.#due.set(name, next);
      } catch (error) {
        if (signal.aborted) return;
        this.#options.log.debug({ user: name, err: error }, 'the state of a user could not be written');
        this.#due.set(name, this.#now().getTime() + retryMs);
      }
    }
  }

  /** @returns when to look again, in milliseconds since 1970; undefined for when it changes */
  async #lookAt(name: string, signal: AbortSignal): Promise<number | undefined> {
    const { records, config, naming } = this.#options;
    const object = records.get(name);
    if (object === undefined) return undefined;
    const unfinishedUntil = unfinishedEnd(object);
    const now = this.#now();
    if (unfinishedUntil !== undefined && unfinishedUntil > now.getTime()) return unfinishedUntil;
    if (unfinishedUntil !== undefined) {
      await this.#records.remove(object.metadata, signal);
      return undefined;
    }
    const account = accountOf(object);
    const labels = labelsToChange(object.metadata.labels, isRecord(object.spec) ? object.spec : {});
    const labelled = labels === undefined ? object : await this.#records.patch(object, { labels }, signal);
    if (labelled === undefined) return 0;
    const phase = phaseOf(account, now, config.users.idleDays);
    const isNameless = account.isCanonical && account.connectorType === 'local' && account.subjectName === '';
    const subjectName = isNameless ? localSubjectName(account, naming) : undefined;
    const wanted = {
      phase: phase.phase,
      reason: phase.reason || null,
      observedGeneration: object.metadata.generation ?? null,
      conditions: conditionsOf(object, account, phase, now),
      ...(subjectName !== undefined && { subjectName }),
      ...(!account.isCanonical && { subjectName: null, groups: null }),
    };
    const old = isRecord(object.status) ? object.status : {};
    const status = Object.fromEntries(
      Object.entries(wanted).filter(([key, value]) => !isDeepStrictEqual(value ?? undefined, old[key] ?? undefined)),
    );
    if (Object.keys(status).length > 0) {
      if ((await this.#records.patch(labelled, { status }, signal)) === undefined) return 0;
      if (typeof old.phase === 'string' && old.phase !== phase.phase)
        await this.#tell(object, old.phase, phase.phase, phase.reason, signal);
    }
    return nextChangeOf(account, now, config.users.idleDays);
  }

  /** An Event that is lost fails nothing. */
  async #tell(
    { metadata: { name, uid } }: KubernetesObject,
    before: string,
    phase: string,
    reason: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, log } = this.#options;
    const event = {
      namespace: eventNamespace,
      involvedObject: { apiVersion: userApiVersion, kind: 'User', name, uid },
      suffix: randomBytes(8).toString('hex'),
      type: phase === 'Normal' ? ('Normal' as const) : ('Warning' as const),
      reason: 'PhaseChanged',
      message: `the phase is ${phase}${reason && ` (${reason})`}, it was ${before}`,
      action: 'PhaseChanged',
      time: this.#now(),
    };
    await createEvent(client, event, signal).catch((error: unknown) => log.debug({ user: name, err: error }, 'an Event was lost'));
  }
}
