import { z } from 'zod';
import { partsOf, reader } from '../api/reader.ts';
import { StatusError, serviceUnavailable, timedOut } from '../api/status.ts';
import { abortable } from '../kubernetes/abortable.ts';
import type { ServiceClient } from '../kubernetes/kubernetes-client.ts';
import type { KubernetesObject, ResourceType } from '../kubernetes/resource.ts';
import { ServiceResource } from '../kubernetes/resource-client.ts';
import { isRefusal } from '../kubernetes/upstream-error.ts';
import { maxLeaving } from './record/local-groups.ts';
import { untilUncontested } from './record/records.ts';

const group = 'auth.platform.io';
const version = 'v1';
const groups: ResourceType = { group, version, resource: 'groups' };
const userBindings: ResourceType = { group, version, resource: 'userbindings' };
/** A pass goes on when those who wait for it are gone: their tokens are ended. */
const passMs = 120_000;

/** A user who goes: the record's name, and the names that Kubernetes sees. */
interface Leaving {
  name: string;
  subjectNames: readonly string[];
}

type Names = ReadonlySet<string>;

/** One who waits, and how that ends. */
interface Waiting extends Leaving {
  done: PromiseWithResolvers<void>;
}

/** A list of the spec that names users. */
interface Place {
  type: ResourceType;
  kind: string;
  list: 'users' | 'subjects';
  /** What its members call a user. */
  namesOf: (leaving: Leaving) => readonly string[];
  /** Taken out by one write. */
  atMost: number;
  /** Whether an object without members is deleted. */
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
 * Takes users out of the local groups and user bindings that name them. A group of thousands takes the API server a second to write, so that
 * all who come while it is written leave by the writes that follow.
 */
export class References {
  readonly #client: ServiceClient;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  /** @throws StatusError 503, 504 */
  async remove(leaving: Leaving, signal: AbortSignal): Promise<void> {
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

  /** What fails with one object fails for the users whom it names. */
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

  /** Again, with what there is then, where not all could leave at once or another program has written in between. */
  async #leave(listed: KubernetesObject, place: Place, names: Names, signal: AbortSignal): Promise<void> {
    let object: KubernetesObject | undefined = listed;
    const isLeft = () => object === undefined || positionsOf(object, place, names).length === 0;
    const areGone = await untilUncontested(async () => {
      if (object === undefined || isLeft()) return true;
      object = (await this.#write(object, place, names, signal)) ?? (await this.#named(place, listed.metadata.name, signal));
      return isLeft() || undefined;
    }, signal);
    if (!areGone) throw serviceUnavailable('kubernetes', { cause: new Error(`${place.type.resource} are written all the time`) });
  }

  /** @returns what was written; undefined if the object is gone or other than it was, or if that is unknown */
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

  /** Where the resource is not installed, there are none. */
  async *#objects(place: Place, signal: AbortSignal, selectors = {}): AsyncGenerator<KubernetesObject> {
    try {
      yield* this.#resource(place).list(selectors, signal);
    } catch (error) {
      if (!isRefusal(error, 404)) throw error;
    }
  }

  /** The service may list UserBindings, but get none by name. */
  async #named(place: Place, name: string, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    for await (const object of this.#objects(place, signal, { fieldSelector: `metadata.name=${name}` })) return object;
    return undefined;
  }
}

/** By position, each with who must stand there: what others write elsewhere in the object, its status for one, does no harm. */
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

/** Of a list that names users, at its place: what is no member counts as one without a name. */
const readMember = reader(z.object({ kind: z.unknown(), name: z.string() }));

const positionsOf = (object: KubernetesObject, place: Place, names: Names): number[] =>
  membersOf(object, place).flatMap((member, at) => {
    const { kind } = readMember(member);
    return (kind ?? 'User') === 'User' && names.has(nameAt(object, place, at)) ? [at] : [];
  });
