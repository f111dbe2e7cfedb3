import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { conflict, serviceUnavailable } from '@atrium/objects/status.ts';
import type { Config } from '../config/schema.ts';
import { phaseStatus } from './record/conditions.ts';
import { UserRecords } from './record/records.ts';
import { userKind, userResource } from './record/schema.ts';

/** Members to merge into the status; `null` removes a member. */
export type StatusMembers = Readonly<Record<string, unknown>>;

/** Computes the members from the version that they replace. Throws to refuse; returns undefined if the record stays as it is. */
type StatusChange = (object: KubernetesObject) => StatusMembers | undefined | Promise<StatusMembers | undefined>;

/** Identifies a User record. A record that replaced it under the same name has another UID. */
export interface UserReference {
  readonly name: string;
  readonly uid: string;
}

interface StatusNeeds {
  readonly client: ServiceClient;
  readonly now: () => Date;
  readonly config: { readonly users: Pick<Config['users'], 'idleDays'> };
}

/** Writes `User.status` with the service account. All writes go through this class, so that each of them updates the phase. */
export class UserStatusWriter {
  readonly #needs: StatusNeeds;
  readonly #records: UserRecords;
  readonly #users: ServiceResource;
  readonly #isAudited: boolean;

  /** @param isAudited true if an audit event of the same request tells the writes */
  constructor({ client, now, config }: StatusNeeds, { isAudited = false } = {}) {
    this.#needs = { client, now, config };
    this.#records = new UserRecords(client);
    this.#users = new ServiceResource(client, userKind);
    this.#isAudited = isAudited;
  }

  /**
   * Changes the status, and retries after conflicts.
   *
   * @param signal Default: none, because a disconnected client must not leave a change incomplete
   * @returns the record after the write
   * @throws StatusError 409 if the user has been deleted, 503, 504
   */
  async patch(user: UserReference, change: StatusMembers | StatusChange, signal: AbortSignal = neverAborts): Promise<KubernetesObject> {
    const written = await this.patchIfExists(user, change, signal);
    if (written === undefined) throw conflict(userResource, user.name, 'the user was deleted meanwhile');
    return written;
  }

  /** Changes the status of a user who may have been deleted. @returns undefined then; @throws StatusError 503, 504 */
  async patchIfExists(
    { name, uid }: UserReference,
    change: StatusMembers | StatusChange,
    signal: AbortSignal = neverAborts,
  ): Promise<KubernetesObject | undefined> {
    const written = await retryOnConflict(async () => {
      const object = await this.#records.read(name, signal);
      if (object === undefined || object === 'notInstalled' || object.metadata.uid !== uid) return 'deleted';
      const members = typeof change === 'function' ? await change(object) : change;
      return members === undefined ? object : this.patchVersion(object, members, signal);
    }, signal);
    if (written === undefined) throw serviceUnavailable('kubernetes', { cause: new Error(`conflicting writes to the user ${name} go on`) });
    return written === 'deleted' ? undefined : written;
  }

  /** Changes the status of that version alone. @returns undefined if the record has changed since; @throws StatusError 503, 504 */
  async patchVersion(object: KubernetesObject, members: StatusMembers, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const { name, resourceVersion } = object.metadata;
    const changed = { ...object, status: { ...partsOf(object).status, ...members } };
    const phase = phaseStatus(changed, this.#needs.now(), this.#needs.config.users.idleDays);
    const patch = { metadata: { resourceVersion }, status: { ...members, ...phase } };
    const written = await this.#users.patchStatus(name, patch, { signal, isAudited: this.#isAudited });
    return written === 'conflict' || written === 'gone' ? undefined : written;
  }
}

/** Second factors after a complete login. */
export const noMisses: StatusMembers = { secondFactorFailures: null, isTOTPSuspended: null };

/** Second factors after their reset. */
export const noFactors: StatusMembers = { ...noMisses, factorsDueTime: null };
