import { Readable } from 'node:stream';
import type { Recording, RecordingStore } from '@atrium/audit-store/recording.ts';
import type { Caller } from '@atrium/http/caller.ts';
import { notFound, StatusError } from '@atrium/objects/status.ts';
import type { OwnSince, Services } from '../services.ts';
import { asciicast } from './asciicast.ts';
import type { RecordingList, RecordingsParameters } from './schema.ts';

const recordings = { group: 'auth.platform.io', resource: 'recordings' };

export interface RecordingNeeds {
  /** Undefined for an installation that keeps no recordings. */
  store: RecordingStore | undefined;
  ownSince: OwnSince;
}

const timeOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Date.parse(text));

/** Lists, shows and deletes recordings. Users read their own; others need RBAC on `recordings`, in the namespace of the pod. */
export class RecordingsService {
  readonly #access: Services['access'];
  readonly #log: Services['log'];
  readonly #directShells: RecordingList['directShells'];
  readonly #needs: RecordingNeeds;

  constructor({ access, config, log }: Services, needs: RecordingNeeds) {
    this.#access = access;
    this.#log = log;
    this.#directShells = config.audit.refuseDirectShells ? 'Refused' : 'NotRecorded';
    this.#needs = needs;
  }

  /** @throws StatusError 403, 404, 503, 504 */
  async list({ limit, continue: place, ...conditions }: RecordingsParameters, caller: Caller, signal: AbortSignal): Promise<RecordingList> {
    const store = this.#kept();
    const { actor, namespace, from, to } = conditions;
    const { name: user } = caller.identity;
    const asked = { verb: 'list', ...recordings, ...(namespace !== undefined && { namespace }) };
    const isOwn = !(await this.#access.can(caller, asked, signal));
    if (isOwn && actor !== undefined && actor !== user) await this.#access.require(caller, asked, signal);
    const [started = '', id = ''] = place?.split('.') ?? [];
    const since = isOwn ? this.#needs.ownSince(caller) : undefined;
    const begin = since === undefined ? timeOf(from) : Math.max(since, timeOf(from) ?? 0);
    const filter = { ...conditions, actor: isOwn ? user : actor, from: begin, to: timeOf(to) };
    const before = place === undefined ? undefined : { started: Number(started), id };
    const { recordings: items, last } = await store.list(filter, { limit, before });
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'RecordingList',
      metadata: last === undefined ? {} : { continue: `${last.started}.${last.id}` },
      scope: isOwn ? 'Own' : 'All',
      directShells: this.#directShells,
      items: isOwn ? items.filter((recording) => this.#isOwn(recording, caller)) : items,
    };
  }

  /** Returns a recording with its output. @throws StatusError 404, 503, 504 */
  async read(id: string, caller: Caller, signal: AbortSignal): Promise<{ recording: Recording; cast: Readable }> {
    const { store, recording } = await this.#visible(id, caller, signal);
    const cast = Readable.from(asciicast(store, recording), { objectMode: false });
    cast.on('error', (error) => this.#log.warn({ err: error }, 'a recording has ended early'));
    return { recording, cast };
  }

  /** @throws StatusError 403, 404, 503, 504 */
  async delete(id: string, caller: Caller, signal: AbortSignal): Promise<Recording> {
    const { store, recording } = await this.#visible(id, caller, signal);
    await this.#access.require(caller, { verb: 'delete', ...recordings, namespace: recording.objectRef.namespace }, signal);
    if (!(await store.delete(id))) throw notFound(recordings, id);
    return recording;
  }

  /** Returns a recording that the caller may read: the own ones, and those in namespaces where the caller may get recordings. */
  async #visible(id: string, caller: Caller, signal: AbortSignal): Promise<{ store: RecordingStore; recording: Recording }> {
    const store = this.#kept();
    const recording = await store.get(id);
    if (recording === undefined) throw notFound(recordings, id);
    const { namespace } = recording.objectRef;
    if (!this.#isOwn(recording, caller) && !(await this.#access.can(caller, { verb: 'get', ...recordings, namespace }, signal)))
      throw notFound(recordings, id);
    return { store, recording };
  }

  /** Reports whether the shell was the caller's, and not one of a deleted user of that name. */
  #isOwn({ user: { username, uid }, startedAt }: Recording, caller: Caller): boolean {
    const { identity } = caller;
    const since = this.#needs.ownSince(caller);
    if (username !== identity.name) return false;
    // Sessions and access tokens of one record have different uids, so that uids tell apart callers without a record alone.
    return since === undefined ? (uid ?? identity.uid) === identity.uid || identity.uid === '' : Date.parse(startedAt) >= since;
  }

  /** @throws StatusError 404 */
  #kept(): RecordingStore {
    const { store } = this.#needs;
    if (store === undefined) throw new StatusError(404, 'NotFound', 'this installation keeps no recordings');
    return store;
  }
}
