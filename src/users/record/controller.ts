import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import type { ServiceClient } from '../../kubernetes/api-server.ts';
import { Controller, type Term } from '../../kubernetes/controller.ts';
import { createEvent } from '../../kubernetes/events.ts';
import { changedStatus } from '../../kubernetes/object-status.ts';
import { isRecord, type KubernetesObject } from '../../kubernetes/resource.ts';
import type { Outcome } from '../../kubernetes/work-queue.ts';
import { type Account, accountOf } from './account.ts';
import { conditionsOf } from './conditions.ts';
import { DeletedUsers } from './deleted-users.ts';
import { labelsToChange } from './labels.ts';
import type { AccountLookup } from './lookup.ts';
import { type AccountPhase, nextChangeOf, phaseOf } from './phase.ts';
import { UserRecords } from './records.ts';
import { userApiVersion } from './resource.ts';
import { localSubjectName, type SubjectNaming } from './subject-name.ts';
import { unfinishedEnd } from './unfinished.ts';

/** The API server keeps Events about objects without a namespace nowhere else. */
const eventNamespace = 'default';
const workers = 4;
/** A user is made, or logs in, by several writes: a look in between would only be in their way. */
const delayMs = 500;

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
  readonly #controller: Controller;
  readonly #now: () => Date;
  readonly #deleted: DeletedUsers;
  #forgetGone: () => void = () => undefined;

  constructor(options: UserStatesOptions) {
    this.#options = options;
    this.#records = new UserRecords(options.client);
    this.#now = options.now ?? (() => new Date());
    this.#deleted = new DeletedUsers({ ...options, now: this.#now });
    this.#controller = new Controller(options, {
      name: 'atrium-user-states',
      workers,
      delayMs,
      begin: (signal) => this.#begin(signal),
    });
  }

  start(): void {
    this.#forgetGone = this.#options.records.onGone((account) => this.#deleted.see(account));
    this.#controller.start();
  }

  stop(): Promise<void> {
    this.#forgetGone();
    return this.#controller.stop();
  }

  #begin(signal: AbortSignal): Term {
    const { accounts, records, log } = this.#options;
    const ending = this.#deleted.run(signal);
    return {
      sources: [
        {
          onChange: (enqueue) => accounts.onChange(enqueue),
          whenSynced: (whileLeader) => accounts.whenSynced(whileLeader),
          keys: () => records.names(),
        },
      ],
      reconcile: (name, whileLeader) => this.#reconcile(name, whileLeader),
      onFailure: (name, error) => log.debug({ user: name, err: error }, 'the state of a user could not be written'),
      end: () => ending,
    };
  }

  /** What it writes, the watch tells of: then it is looked at again. */
  async #reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const { records, config, naming } = this.#options;
    const object = records.get(name);
    if (object === undefined) return 'done';
    const unfinishedUntil = unfinishedEnd(object);
    const now = this.#now();
    if (unfinishedUntil !== undefined && unfinishedUntil > now.getTime()) return { requeueAt: unfinishedUntil };
    if (unfinishedUntil !== undefined) {
      await this.#records.remove(object.metadata, signal);
      return 'done';
    }
    const account = accountOf(object);
    const labels = labelsToChange(object.metadata.labels, isRecord(object.spec) ? object.spec : {});
    const labelled = labels === undefined ? object : await this.#records.patch(object, { labels }, signal);
    if (labelled === undefined) return 'again';
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
    const status = changedStatus(object.status, wanted);
    if (status !== undefined) {
      if ((await this.#records.patch(labelled, { status }, signal)) === undefined) return 'again';
      await this.#tell(object, phase, signal);
    }
    const next = nextChangeOf(account, now, config.users.idleDays);
    return next === undefined ? 'done' : { requeueAt: next };
  }

  /** An Event where the phase is another one than before; one that is lost fails nothing. */
  async #tell(object: KubernetesObject, { phase, reason }: AccountPhase, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options;
    const { name, uid } = object.metadata;
    const before = isRecord(object.status) ? object.status.phase : undefined;
    if (typeof before !== 'string' || before === phase) return;
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
