import { StatusError, serviceUnavailable, timedOut } from '../api/status.ts';
import { abortable } from '../kubernetes/abortable.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { isKubernetesObject, isRecord, type KubernetesObject, type ResourceType, resourcePath } from '../kubernetes/resource.ts';
import { maxLeaving } from './record/local-groups.ts';
import { untilUncontested } from './record/records.ts';

const group = 'auth.platform.io';
const version = 'v1';
const groups: ResourceType = { group, version, resource: 'groups' };
const userBindings: ResourceType = { group, version, resource: 'userbindings' };
const pageSize = 500;
/** A pass goes on when those who wait for it are gone: their tokens are ended. */
const passMs = 120_000;

/** A user who goes: the record's name, and the name that Kubernetes sees, '' for none. */
interface Leaving {
  name: string;
  subjectName: string;
}

type Names = ReadonlySet<string>;

/** One who waits, and how that ends. */
interface Waiting extends Leaving {
  done: PromiseWithResolvers<void>;
}

/** A list of the spec that names users. */
interface Place {
  type: ResourceType;
  list: 'users' | 'subjects';
  /** What its members call a user. */
  namesOf: (leaving: Leaving) => readonly string[];
  /** Taken out by one write. */
  atMost: number;
  /** Whether an object without members is deleted. */
  goesEmpty: boolean;
}

const places: readonly Place[] = [
  { type: groups, list: 'users', namesOf: ({ name }) => [name], atMost: maxLeaving, goesEmpty: false },
  {
    type: userBindings,
    list: 'subjects',
    namesOf: ({ name, subjectName }) => (subjectName === '' ? [name] : [name, subjectName]),
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
      for await (const object of objects(this.#client, place.type, signal)) {
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
      object =
        (await this.#write(object, place, names, signal)) ?? (await objectNamed(this.#client, place.type, listed.metadata.name, signal));
      return isLeft() || undefined;
    }, signal);
    if (!areGone) throw serviceUnavailable('kubernetes', { cause: new Error(`${place.type.resource} are written all the time`) });
  }

  /** @returns what was written; undefined if the object is gone or other than it was, or if that is unknown */
  async #write(object: KubernetesObject, place: Place, names: Names, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const { type } = place;
    const positions = positionsOf(object, place, names);
    const isEmptied = place.goesEmpty && positions.length === membersOf(object, place).length;
    try {
      const answer = await this.#client.request({
        path: resourcePath(type, { name: object.metadata.name }),
        signal,
        ...(isEmptied ? deletionOf(object, type) : removalOf(object, place, positions.slice(0, place.atMost))),
      });
      return !isEmptied && isKubernetesObject(answer) ? answer : undefined;
    } catch (error) {
      if (error instanceof StatusError && [404, 409, 422, 504].includes(error.status.code)) return undefined;
      throw error;
    }
  }
}

const deletionOf = ({ metadata: { uid, resourceVersion } }: KubernetesObject, { resource }: ResourceType) => ({
  method: 'DELETE' as const,
  body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } },
  call: `delete ${resource}`,
});

/** By position, each with who must stand there: what others write elsewhere in the object, its status for one, does no harm. */
const removalOf = (object: KubernetesObject, place: Place, positions: readonly number[]) => ({
  method: 'PATCH' as const,
  contentType: 'application/json-patch+json',
  body: [
    ...positions.map((at) => ({ op: 'test', path: `/spec/${place.list}/${at}/name`, value: nameAt(object, place, at) })),
    ...positions.toReversed().map((at) => ({ op: 'remove', path: `/spec/${place.list}/${at}` })),
  ],
  call: `patch ${place.type.resource}`,
});

function membersOf({ spec }: KubernetesObject, { list }: Place): readonly unknown[] {
  const members = isRecord(spec) ? spec[list] : undefined;
  return Array.isArray(members) ? members : [];
}

function nameAt(object: KubernetesObject, place: Place, at: number): string {
  const member = membersOf(object, place)[at];
  return isRecord(member) && typeof member.name === 'string' ? member.name : '';
}

const positionsOf = (object: KubernetesObject, place: Place, names: Names): number[] =>
  membersOf(object, place).flatMap((member, at) => {
    const isUser = isRecord(member) && (member.kind ?? 'User') === 'User';
    return isUser && names.has(nameAt(object, place, at)) ? [at] : [];
  });

async function objectNamed(
  client: ServiceClient,
  type: ResourceType,
  name: string,
  signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  for await (const object of objects(client, type, signal, `metadata.name=${name}`)) return object;
  return undefined;
}

async function* objects(
  client: ServiceClient,
  type: ResourceType,
  signal: AbortSignal,
  fieldSelector = '',
): AsyncGenerator<KubernetesObject> {
  let next = '';
  do {
    const query = new URLSearchParams({
      limit: String(pageSize),
      ...(next && { continue: next }),
      ...(fieldSelector && { fieldSelector }),
    });
    const list = await client
      .request({ method: 'GET', path: resourcePath(type), query, call: `list ${type.resource}`, signal })
      .catch(unlessNotInstalled);
    if (!isRecord(list)) return;
    for (const item of Array.isArray(list.items) ? list.items : []) if (isKubernetesObject(item)) yield item;
    next = isRecord(list.metadata) && typeof list.metadata.continue === 'string' ? list.metadata.continue : '';
  } while (next !== '');
}

function unlessNotInstalled(error: unknown): undefined {
  if (error instanceof StatusError && error.status.code === 404) return undefined;
  throw error;
}
