import { abortable } from '@atrium/kubernetes/deadline.ts';
import { isNotInstalled, type ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { partsOf, reader } from '@atrium/objects/reader.ts';
import { StatusError, serviceUnavailable, timedOut } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { maxLeaving } from './record/local-groups.ts';

const group = 'auth.platform.io';
const version = 'v1';
const groups: ResourceType = { group, version, resource: 'groups' };
const userBindings: ResourceType = { group, version, resource: 'userbindings' };
/** Timeout of a pass. A pass continues after its callers have disconnected, because the users' tokens have ended already. */
const passMs = 120_000;

/** Removed user: the name of the record, and the user names that Kubernetes sees. */
interface RemovedUser {
  name: string;
  subjectNames: readonly string[];
}

type Names = ReadonlySet<string>;

/** Removed user, and the promise that the caller waits for. */
interface Waiting extends RemovedUser {
  done: PromiseWithResolvers<void>;
}

/** List in a spec that names users. */
interface Place {
  type: ResourceType;
  kind: string;
  list: 'users' | 'subjects';
  /** Returns the names by which the list may contain a user. */
  namesOf: (leaving: RemovedUser) => readonly string[];
  /** Maximum number of members that one write removes. */
  atMost: number;
  /** Deletes an object without members. */
  goesEmpty: boolean;
}

const places: readonly Place[] = [
  { type: groups, kind: 'Group', list: 'users', namesOf: ({ name }) => [name], atMost: maxLeaving, goesEmpty: false },
  {
    type: userBindings,
    kind: 'UserBinding',
    list: 'subjects',
    namesOf: ({ name, subjectNames }) => [name, ...subjectNames],
    atMost: Number.POSITIVE_INFINITY,
    goesEmpty: true,
  },
];

/**
 * Removes users from the local groups and user bindings that name them. The API server needs a second to write a group of thousands. Users
 * who arrive during such a write are removed together by the next ones.
 */
export class MembershipRemover {
  readonly #client: ServiceClient;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  /** Removes all references to a user. @throws StatusError 503, 504 */
  async remove(leaving: RemovedUser, signal: AbortSignal): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ ...leaving, done });
    if (!this.#isRunning) void this.#run();
    await abortable(done.promise, signal);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const all = this.#waiting;
      this.#waiting = [];
      const signal = AbortSignal.timeout(passMs);
      await this.#pass(all, signal).catch((error: unknown) => {
        for (const { done } of all) done.reject(signal.aborted ? timedOut('kubernetes', { cause: error }) : error);
      });
      for (const { done } of all) done.resolve();
    }
    this.#isRunning = false;
  }

  /** Removes users from all objects. A failure with an object rejects the users whom it names. */
  async #pass(all: readonly Waiting[], signal: AbortSignal): Promise<void> {
    for (const place of places) {
      const names = new Set(all.flatMap(place.namesOf));
      for await (const object of this.#objects(place, signal)) {
        const found = new Set(positionsOf(object, place, names).map((at) => nameAt(object, place, at)));
        if (found.size === 0) continue;
        await this.#leave(object, place, names, signal).catch((error: unknown) => {
          for (const leaving of all) if (place.namesOf(leaving).some((name) => found.has(name))) leaving.done.reject(error);
        });
      }
    }
  }

  /**
   * Removes members from one object. Reads it again and retries if one write could not remove all of them, or another program has written
   * in between.
   */
  async #leave(listed: KubernetesObject, place: Place, names: Names, signal: AbortSignal): Promise<void> {
    let object: KubernetesObject | undefined = listed;
    const isLeft = () => object === undefined || positionsOf(object, place, names).length === 0;
    const areGone = await retryOnConflict(async () => {
      if (object === undefined || isLeft()) return true;
      object = (await this.#write(object, place, names, signal)) ?? (await this.#named(place, listed.metadata.name, signal));
      return isLeft() || undefined;
    }, signal);
    if (!areGone)
      throw serviceUnavailable('kubernetes', { cause: new Error(`concurrent writes of ${place.type.resource} prevented the change`) });
  }

  /** @returns the written object; undefined if the object is deleted or has changed, or if that is unknown */
  async #write(object: KubernetesObject, place: Place, names: Names, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const { name, uid, resourceVersion } = object.metadata;
    const positions = positionsOf(object, place, names);
    const resource = this.#resource(place);
    try {
      if (place.goesEmpty && positions.length === membersOf(object, place).length) {
        await resource.remove(name, { preconditions: { uid, resourceVersion }, signal });
        return undefined;
      }
      const written = await resource.patchTested(name, removal(object, place, positions.slice(0, place.atMost)), { signal });
      return written === 'conflict' || written === 'gone' ? undefined : written;
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 504) return undefined;
      throw error;
    }
  }

  #resource({ type, kind }: Place): ServiceResource {
    return new ServiceResource(this.#client, { type, kind });
  }

  /** Lists objects. Without the resource in the cluster, the list is empty. */
  async *#objects(place: Place, signal: AbortSignal, selectors = {}): AsyncGenerator<KubernetesObject> {
    try {
      yield* this.#resource(place).list(selectors, signal);
    } catch (error) {
      if (!isNotInstalled(error)) throw error;
    }
  }

  /** Reads an object with a list, because the service account may list UserBindings, but not get them. */
  async #named(place: Place, name: string, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    for await (const object of this.#objects(place, signal, { fieldSelector: `metadata.name=${name}` })) return object;
    return undefined;
  }
}

/**
 * Removes members by index. A `test` operation checks each expected name. Concurrent writes elsewhere in the object, such as to its status,
 * do not conflict.
 */
const removal = (object: KubernetesObject, place: Place, positions: readonly number[]) => [
  ...positions.map((at) => ({ op: 'test', path: `/spec/${place.list}/${at}/name`, value: nameAt(object, place, at) })),
  ...positions.toReversed().map((at) => ({ op: 'remove', path: `/spec/${place.list}/${at}` })),
];

function membersOf(object: KubernetesObject, { list }: Place): readonly unknown[] {
  const members = partsOf(object).spec?.[list];
  return Array.isArray(members) ? members : [];
}

function nameAt(object: KubernetesObject, place: Place, at: number): string {
  return readMember(membersOf(object, place)[at]).name ?? '';
}

/** Reads a member of a list. An invalid member has no name, and keeps its index. */
const readMember = reader(z.object({ kind: z.unknown(), name: z.string() }));

const positionsOf = (object: KubernetesObject, place: Place, names: Names): number[] =>
  membersOf(object, place).flatMap((member, at) => {
    const { kind } = readMember(member);
    return (kind ?? 'User') === 'User' && names.has(nameAt(object, place, at)) ? [at] : [];
  });
