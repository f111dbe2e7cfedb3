/** A resource that is followed and shown: its watch cache, and what every room does with one. */
import { notFound } from '../api/status.ts';
import type { Check } from '../http/health.ts';
import type { KubernetesObject, ResourceType } from '../kubernetes/resource.ts';
import { WatchCache } from '../kubernetes/watch-cache.ts';
import type { Services } from '../services.ts';
import { BulkDeleter, type BulkDeleterOptions } from './bulk-delete.ts';
import { Lister } from './lister.ts';
import type { LiveRow } from './live-list.ts';
import { LiveLists } from './live-lists.ts';
import type { ListProperties, ListRow } from './properties.ts';
import type { WhileAllowedOptions } from './while-allowed.ts';

type CollectionServices = Pick<Services, 'client' | 'log' | 'metrics' | 'keyRing' | 'now' | 'access'>;

export interface CollectionOptions<Row> {
  resource: ResourceType;
  /** Of one object: `Group`. */
  kind: string;
  /** What is kept of an object; undefined for nothing. Called once per change. */
  row(object: KubernetesObject): Row | undefined;
  properties: ListProperties<Row>;
  /** Left out: all namespaces, or a resource without namespaces. */
  namespace?: string;
  isMetadataOnly?: boolean;
  /** Gives objects with integers that a double cannot hold as BigInt. */
  keepsDigits?: boolean;
  /** With more, the list fails. Default: no bound. */
  maxObjects?: number;
  /** Of what is answered, where that is not the resource itself. */
  answer?: { apiVersion: string; extra: object };
  /** Name of the watch, of the check and in metrics; default: the resource. */
  name?: string;
}

/** All objects of a resource, followed from `start` on. */
export interface Collection<Row extends ListRow> {
  readonly cache: WatchCache<Row>;
  readonly lister: Lister<Row>;
  /** Whether the first list is complete. */
  readonly check: Check;
  /** Once it is known what there is. @throws StatusError 404, 503 */
  get(name: string, signal: AbortSignal): Promise<Row>;
  /** All of them, as they are then. @throws StatusError 503 */
  rows(signal: AbortSignal): Promise<Iterable<Row>>;
  bulkDeleter(options: Pick<BulkDeleterOptions<Row>, 'deleter' | 'uidOf' | 'atOnce'>): BulkDeleter<Row>;
  start(): void;
  stop(): Promise<void>;
}

/** Follows a resource. Who may see and delete what is asked by the room that it belongs to. */
export function collection<Row extends ListRow>(services: CollectionServices, options: CollectionOptions<Row>): Collection<Row> {
  const { client, log, metrics, keyRing, now, access } = services;
  const { resource, kind, row, properties, answer, name = resource.resource, ...selection } = options;
  // By the machine's own clock: a test that puts `clock` forward does not make the API server silent.
  const cache = new WatchCache<Row>({ client, log, metrics }, { ...selection, name, type: resource, keep: row });
  const lister = new Lister({
    cache,
    name,
    properties,
    apiVersion: answer?.apiVersion ?? apiVersionOf(resource),
    extra: answer?.extra,
    listKind: `${kind}List`,
    seal: keyRing.sealFor('continue'),
    keysSettled: () => keyRing.settled(),
    metrics,
    now,
  });
  const rows = async (signal: AbortSignal) => {
    await lister.whenUsable(signal);
    return cache.values();
  };
  return {
    cache,
    lister,
    check: { name, critical: false, isAwaited: true, failure: () => cache.missing() },
    async get(asked, signal) {
      await lister.whenUsable(signal);
      const found = cache.get(asked);
      if (found === undefined) throw notFound(resource, asked);
      return found;
    },
    rows,
    bulkDeleter: (deletion) => new BulkDeleter({ ...deletion, type: resource, access, properties, rows }),
    start: () => cache.start(),
    stop: () => cache.stop(),
  };
}

/** To be made before the collection is started: it keeps the latest changes. */
export function liveLists<Row extends LiveRow>(
  { cache, lister }: Collection<Row>,
  { resource, kind, properties, answer }: Pick<CollectionOptions<Row>, 'resource' | 'kind' | 'properties' | 'answer'>,
  guard: WhileAllowedOptions,
): LiveLists<Row> {
  const apiVersion = answer?.apiVersion ?? apiVersionOf(resource);
  const nativePath = `/${resource.group === '' ? 'api' : 'apis'}/${apiVersionOf(resource)}/${resource.resource}`;
  return new LiveLists({ cache, lister, properties, apiVersion, kind, nativePath }, guard);
}

const apiVersionOf = ({ group, version }: ResourceType): string => (group === '' ? version : `${group}/${version}`);
