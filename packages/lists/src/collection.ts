/** Watches and lists of a resource: its cache, and the operations that all resources have in common. */
import type { Check } from '@atrium/http/health.ts';
import type { AccessReviews } from '@atrium/kubernetes/access.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { notFound } from '@atrium/objects/status.ts';
import type { Logger } from 'pino';
import { BulkDeleter, type BulkDeleterOptions, type Deleted } from './bulk-delete.ts';
import { Lister, type ListerOptions } from './lister.ts';
import type { LiveRow } from './live-list.ts';
import { LiveLists } from './live-list-answer.ts';
import type { ListProperties, ListRow } from './properties.ts';
import type { WhileAllowedOptions } from './while-allowed.ts';

/** Services of an installation that its collections share. */
interface CollectionServices extends Pick<ListerOptions<never>, 'keyRing' | 'metrics' | 'now' | 'pages'> {
  client: ServiceClient;
  access: AccessReviews;
  log: Logger;
}

export interface CollectionOptions<Row> {
  resource: ResourceType;
  /** Kind of an object: `Group`. */
  kind: string;
  /** Returns the row of an object, undefined to leave it out. Called once per change. */
  row(object: KubernetesObject): Row | undefined;
  properties: ListProperties<Row>;
  /** Default: all namespaces, or a resource without namespaces. */
  namespace?: string;
  isMetadataOnly?: boolean;
  /** Reads integers that a double cannot hold as BigInt. */
  keepsDigits?: boolean;
  /** Objects of a page of the first list; default: 500. */
  pageSize?: number;
  /** Bound of the objects, above which the list fails. Default: none. */
  maxObjects?: number;
  /** API version and further members of answers. Default: the API version of the resource, and no further members. */
  answer?: { apiVersion: string; extra: object };
  /** Name of the watch, of the check and in metrics; default: the resource. */
  name?: string;
}

/** All objects of a resource, which are watched from `start` on. */
export interface Collection<Row extends ListRow> {
  readonly cache: WatchCache<Row>;
  readonly lister: Lister<Row>;
  /** Health check: fails while the objects are not known. */
  readonly check: Check;
  /** Returns an object, after the first list if that is about to end. @throws StatusError 404, 503 */
  get(name: string, signal: AbortSignal): Promise<Row>;
  /** Returns all rows. @throws StatusError 503 */
  rows(signal: AbortSignal): Promise<Iterable<Row>>;
  bulkDeleter<Result extends Deleted>(
    options: Pick<BulkDeleterOptions<Row, Result>, 'deleter' | 'uidOf' | 'atOnce'>,
  ): BulkDeleter<Row, Result>;
  start(): void;
  stop(): Promise<void>;
}

/** Creates the collection of a resource. Its callers check permissions themselves. */
export function collection<Row extends ListRow>(services: CollectionServices, options: CollectionOptions<Row>): Collection<Row> {
  const { client, log, metrics, keyRing, now, access, pages } = services;
  const { resource, kind, row, properties, answer, name = resource.resource, ...selection } = options;
  // The cache uses the monotonic clock of the machine, so that tests that advance `clock` do not make the API server look silent.
  const cache = new WatchCache<Row>({ client, log, metrics }, { ...selection, name, type: resource, keep: row });
  const lister = new Lister({
    cache,
    name,
    properties,
    apiVersion: answer?.apiVersion ?? apiVersionOf(resource),
    extra: answer?.extra,
    listKind: `${kind}List`,
    keyRing,
    pages,
    metrics,
    now,
  });
  const rows = async (signal: AbortSignal) => {
    await lister.whenReady(signal);
    return cache.values();
  };
  return {
    cache,
    lister,
    check: { name, critical: false, isAwaited: true, failure: () => cache.missing() },
    async get(asked, signal) {
      await lister.whenReady(signal);
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

/** Creates the live lists of a collection. Must be called before the collection is started, because live lists record its changes. */
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
