import { Controller, type Source, type Term } from '@atrium/kubernetes/controllers/controller.ts';
import { writeStatus } from '@atrium/kubernetes/controllers/status-writer.ts';
import type { Outcome } from '@atrium/kubernetes/controllers/work-queue.ts';
import { report } from '@atrium/kubernetes/events.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { Services } from '../../services.ts';
import type { EndUserAccess } from '../ended-access.ts';
import { type StatusMembers, UserStatusWriter } from '../status.ts';
import { type Account, accountOfRead } from './account.ts';
import { type AccountPhase, conditionsOf, nextChangeOf, phaseOf } from './conditions.ts';
import { DeletedUsers } from './deleted-users.ts';
import { labelsToChange, unfinishedEnd } from './labels.ts';
import type { AccountLookup } from './lookup.ts';
import { UserRecords } from './records.ts';
import { readUser, userKind } from './schema.ts';
import { localSubjectName, type SubjectNaming } from './subject-name.ts';

const workers = 4;
/** Delay of a reconciliation. Creations and logins take several writes, which a reconciliation in between would disturb. */
const delayMs = 500;

/** User records as they are stored. */
export interface StoredUsers {
  /** Returns the names of all present records. */
  names(): Iterable<string>;
  /** Returns the record as last seen by the watch. */
  get(name: string): KubernetesObject | undefined;
  /** Calls the listener with every deleted record. @returns a function that removes the listener */
  onGone(listener: (account: Account) => void): () => void;
}

/**
 * Reconciles User records. Updates phase and conditions as time passes, and sets labels and the name in Kubernetes of records written with
 * kubectl. Deletes records whose creation was not completed, and ends the tokens of deleted users. Runs on one replica at a time.
 *
 * No code relies on the stored phase, because the phase is computed where it is needed.
 */
export class UsersController implements Term {
  readonly sources: readonly Source[];
  readonly #services: Services;
  readonly #users: StoredUsers;
  readonly #naming: SubjectNaming;
  readonly #records: UserRecords;
  readonly #status: UserStatusWriter;
  readonly #controller: Controller;
  readonly #deleted: DeletedUsers;
  #forgetGone: () => void = () => undefined;

  constructor(
    services: Services,
    accounts: AccountLookup,
    users: StoredUsers,
    { naming, endAccess }: { naming: SubjectNaming; endAccess: EndUserAccess },
  ) {
    this.#services = services;
    this.#users = users;
    this.#naming = naming;
    this.#records = new UserRecords(services.client);
    this.#status = new UserStatusWriter(services);
    this.#deleted = new DeletedUsers(services, naming, endAccess);
    this.#controller = new Controller(services, {
      name: 'atrium-user-states',
      workers,
      delayMs,
      // No code waits for the stored phase. The tokens of deleted users end before.
      isBackground: (key) => !this.#deleted.isKey(key),
      begin: () => this,
    });
    const changed: Source = {
      onChange: (enqueue) => accounts.onChange(enqueue),
      whenSynced: (signal) => accounts.watch.whenSynced(signal),
      keys: () => users.names(),
    };
    this.sources = [changed, this.#deleted];
  }

  start(): void {
    this.#forgetGone = this.#users.onGone((account) => this.#deleted.see(account));
    this.#controller.start();
  }

  stop(): Promise<void> {
    this.#forgetGone();
    return this.#controller.stop();
  }

  reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    return this.#deleted.isKey(key) ? this.#deleted.reconcile(key, signal) : this.#reconcile(key, signal);
  }

  onFailure(key: string, error: unknown): void {
    this.#services.log.debug({ user: key, err: error }, 'status or tokens of a user could not be written, retrying');
  }

  /** Reconciles a record. The watch delivers the controller's own writes, which are reconciled again. */
  async #reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const { config } = this.#services;
    const object = this.#users.get(name);
    if (object === undefined) return 'done';
    const user = readUser(object);
    const unfinishedUntil = unfinishedEnd(user.status);
    const now = this.#services.now();
    if (unfinishedUntil !== undefined && unfinishedUntil > now.getTime()) return { requeueAt: unfinishedUntil };
    if (unfinishedUntil !== undefined) {
      await this.#records.remove(object.metadata, signal);
      return 'done';
    }
    const account = accountOfRead(object, user);
    const labels = labelsToChange(object.metadata.labels, user.spec);
    const labelled = labels === undefined ? object : await this.#records.patch(object, { labels }, signal);
    if (labelled === undefined) return 'again';
    const phase = phaseOf(account, now, config.users.idleDays);
    const isNameless = account.isCanonical && account.connectorType === 'local' && account.subjectName === '';
    const localName = isNameless ? localSubjectName(account, this.#naming) : undefined;
    const subjectName = account.federation === undefined ? localName : account.subjectName || undefined;
    const conditions = conditionsOf({ object, user, account, phase }, now);
    const wanted = {
      phase: phase.phase,
      reason: phase.reason || null,
      observedGeneration: object.metadata.generation ?? null,
      conditions,
      ...(subjectName !== undefined && { subjectName }),
      ...(!account.isCanonical && { subjectName: null, groups: null }),
    };
    const isInvalid = phase.phase === 'Invalid';
    const troubles = isInvalid ? conditions.filter(({ type }) => type === 'Ready') : [];
    const write = (members: StatusMembers) => this.#status.patchVersion(labelled, members, signal);
    const written = await writeStatus(this.#services, { kind: userKind, object, wanted, troubles, write }, signal);
    if (written === 'again') return 'again';
    if (written !== 'unchanged' && !isInvalid) await this.#report(object, user.status?.phase, phase, signal);
    const next = nextChangeOf(account, now, config.users.idleDays);
    return next === undefined ? 'done' : { requeueAt: next };
  }

  /** Creates an Event if the phase has changed. */
  async #report(object: KubernetesObject, before: string | undefined, { phase, reason }: AccountPhase, signal: AbortSignal): Promise<void> {
    if (before === undefined || before === phase) return;
    const type = phase === 'Normal' ? 'Normal' : 'Warning';
    const message = `the phase is ${phase}${reason && ` (${reason})`}, it was ${before}`;
    const event = { type, reason: 'PhaseChanged', message, action: 'PhaseChanged' } as const;
    await report(this.#services, { kind: userKind, object }, event, signal);
  }
}
