import { setImmediate as turn } from 'node:timers/promises';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Connector } from './connection.ts';
import type { AssignedMembership, DirectoryUsers, Membership, Refusal } from './directory-users.ts';
import type { Listing } from './listing.ts';
import type { ConnectorResult, SyncError } from './schema.ts';

/** Failure of an entry, a name or a whole directory. The message is for callers who may synchronise. */
type Failure = Pick<SyncError, 'reason' | 'message'>;

export interface SyncRules {
  maxInvalidPercent: number;
  isDryRun: boolean;
  isForced: boolean;
}

const atOnce = 8;
const maxErrors = 20;
const maxEntry = 256;
/** Members for each turn of the event loop. */
const slice = 100;

const incomplete: Failure = { reason: 'Incomplete', message: 'the directory listed no users' };
const refusals = {
  NameTaken: 'a record of another e-mail address has the name: delete that record first',
  Administrator: 'an administrator is never linked',
  EntryDiffers:
    'the address belongs to another entry: if it is the same person, DELETE /auth/v1/users/NAME/subjects lets the record forget the former entry, else delete the record and its role bindings',
  Duplicate: 'another entry has the same e-mail address, so that the owner of the address is unknown: change one of them in the directory',
} satisfies Record<Refusal['reason'], string>;

const notes = {
  AddressChanged: 'the entry has another address than its user, who keeps address, roles and login',
  SeveralEntries:
    'the record has the ids of several entries, from an earlier version that gave it to each entry with its address: check who uses it, and let it forget them by DELETE /auth/v1/users/NAME/subjects',
};

/**
 * Updates User records from the entries of a directory. A directory that fails a guard changes no record.
 *
 * @param signal stops the synchronisation between two users when it aborts
 */
export class ConnectorSync {
  readonly #users: DirectoryUsers;
  readonly #connector: Connector;
  readonly #rules: SyncRules;
  readonly #signal: AbortSignal;
  readonly #result: ConnectorResult;

  constructor(users: DirectoryUsers, connector: Connector, { rules, signal }: { rules: SyncRules; signal: AbortSignal }) {
    this.#users = users;
    this.#connector = connector;
    this.#rules = rules;
    this.#signal = signal;
    this.#result = emptyResult(connector);
  }

  /** @returns the result, which is partial if a write failed; @throws the signal's reason */
  async run(listing: Listing): Promise<ConnectorResult> {
    const { fetched, members, errors, warnings, isWhole, leftOut } = listing;
    const { isDryRun, isForced, maxInvalidPercent } = this.#rules;
    const result = this.#result;
    result.fetched = fetched;
    for (const error of errors) this.#fail(error);
    for (const warning of warnings) this.#warn(warning);
    const { assigned, refused } = this.#users.assign(members, this.#connector);
    for (const { membership, reason } of refused) this.#refuse(membership, reason);
    for (const membership of assigned)
      for (const reason of this.#users.notesOn(membership)) this.#warn({ reason, message: notes[reason], entry: membership.person.dn });
    const { users: missing, counting } = this.#users.vanished(this.#connector, listing.has);
    if (fetched === 0 && !isForced) return this.#end(incomplete);
    // A user whom another server may have is not known to be gone.
    const vanished = isWhole ? missing : [];
    const names = vanished.map(({ name }) => name);
    if (!isForced && names.length * 100 > counting * maxInvalidPercent)
      return this.#end({
        reason: 'TooManyInvalid',
        message: `${names.length} of ${counting} users would be invalidated, more than ${maxInvalidPercent} percent`,
      });
    // Some servers truncate a list without an error. A search for the missing users detects that.
    if (vanished.length > 0 && (await leftOut(vanished)))
      return this.#end({ ...incomplete, message: 'the directory left out entries that it has' });
    if (isDryRun) return this.#preview(assigned, names);
    try {
      await this.#forEach(assigned, (member) => this.#apply(member));
      await this.#forEach(names, async (name) => {
        if (await this.#users.invalidate(name, this.#connector, this.#signal)) result.invalidated += 1;
      });
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!(error instanceof StatusError)) throw error;
      return this.#end({ reason: 'NotWritten', message: 'kubernetes did not take a change; the next synchronisation goes on' });
    }
    return result;
  }

  async #preview(members: readonly AssignedMembership[], vanished: readonly string[]): Promise<ConnectorResult> {
    await this.#forEach(members, async (member) => {
      const change = this.#users.preview(member, this.#connector);
      if (change.outcome === 'failed') this.#refuse(member, change.reason);
      else this.#result[change.outcome] += 1;
    });
    this.#result.invalidated = vanished.length;
    return this.#result;
  }

  async #apply(member: AssignedMembership): Promise<void> {
    const outcome = await this.#users.apply(member, this.#connector, this.#signal);
    if (typeof outcome === 'string') this.#result[outcome] += 1;
    else this.#refuse(member, outcome.reason);
  }

  #refuse({ person: { dn } }: Membership, reason: Refusal['reason']): void {
    this.#fail({ reason, message: refusals[reason], entry: dn });
  }

  #fail(error: SyncError): void {
    this.#result.failed += 1;
    if (this.#result.errors.length < maxErrors) this.#result.errors.push({ ...error, entry: error.entry?.slice(0, maxEntry) });
  }

  #warn(warning: SyncError): void {
    const { warnings } = this.#result;
    if (warnings.length < maxErrors) warnings.push({ ...warning, entry: warning.entry?.slice(0, maxEntry) });
  }

  #end(failure: Failure): ConnectorResult {
    return failed(this.#result, failure);
  }

  /** Processes a few items at a time. The first error ends all of them. */
  async #forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
    let done = 0;
    const failed = new AbortController();
    const signal = AbortSignal.any([this.#signal, failed.signal]);
    const act = async (item: T) => {
      signal.throwIfAborted();
      await work(item);
      done += 1;
      if (done % slice === 0) await turn();
    };
    await mapLimit(atOnce, items, act).finally(() => failed.abort());
  }
}

export const emptyResult = ({ id }: Pick<Connector, 'id'>): ConnectorResult => ({
  connector_id: id,
  connector_type: 'ldap',
  status: 'Success',
  fetched: 0,
  created: 0,
  updated: 0,
  unchanged: 0,
  linked: 0,
  restored: 0,
  invalidated: 0,
  failed: 0,
  errors: [],
  warnings: [],
});

/** Puts the failure of the directory before the failures of its entries. */
export const failed = (result: ConnectorResult, failure: Failure): ConnectorResult => ({
  ...result,
  status: 'Failed',
  errors: [failure, ...result.errors].slice(0, maxErrors),
});
