import { Readable } from 'node:stream';
import type { Recording, RecordingStore } from '@atrium/audit-store/recording.ts';
import type { Caller } from '@atrium/http/caller.ts';
import { notFound, StatusError } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import { asciicast } from './asciicast.ts';
import type { RecordingList, RecordingsParameters } from './schema.ts';

const recordings = { group: 'auth.platform.io', resource: 'recordings' };

const timeOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Date.parse(text));

/** Lists, shows and deletes recordings. Users read their own; others need RBAC on `recordings`, in the namespace of the pod. */
export class RecordingsService {
  readonly #access: Services['access'];
  readonly #log: Services['log'];
  readonly #directShells: RecordingList['directShells'];
  readonly #store: RecordingStore | undefined;

  constructor({ access, config, log }: Services, store: RecordingStore | undefined) {
    this.#access = access;
    this.#log = log;
    this.#directShells = config.audit.refuseDirectShells ? 'Refused' : 'NotRecorded';
    this.#store = store;
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
    const filter = { ...conditions, actor: isOwn ? user : actor, from: timeOf(from), to: timeOf(to) };
    const before = place === undefined ? undefined : { started: Number(started), id };
    const { recordings: items, last } = await store.list(filter, { limit, before });
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'RecordingList',
      metadata: last === undefined ? {} : { continue: `${last.started}.${last.id}` },
      scope: isOwn ? 'Own' : 'All',
      directShells: this.#directShells,
      items,
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
    const isOwn = recording.user.username === caller.identity.name;
    if (!isOwn && !(await this.#access.can(caller, { verb: 'get', ...recordings, namespace }, signal))) throw notFound(recordings, id);
    return { store, recording };
  }

  /** @throws StatusError 404 */
  #kept(): RecordingStore {
    if (this.#store === undefined) throw new StatusError(404, 'NotFound', 'this installation keeps no recordings');
    return this.#store;
  }
}
