import type { Bearer, Caller } from '@atrium/http/caller.ts';
import type { AccessReviews } from '@atrium/kubernetes/access.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import { CallerResource } from '@atrium/kubernetes/resource-client.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import { type ConfigMap, contentsOf, keepConfigMap, type MapWithContents } from './config-map-labels.ts';

const configMapType: ResourceType = { group: '', version: 'v1', resource: 'configmaps' };

const firstListMs = 1000;

/** Watches of the ConfigMaps in the namespaces of the console, with the service's account. */
export class ConfigMaps {
  /** Namespace of plugins and the environment. */
  readonly home: string;
  readonly imageNamespaces: readonly string[];
  readonly #apiServer: KubernetesClient;
  readonly #access: AccessReviews;
  readonly #caches: ReadonlyMap<string, WatchCache<ConfigMap>>;

  constructor({ apiServer, access, config, namespace: home, metrics, log }: Services) {
    const { envsConfigMap, imageNamespaces = [home] } = config.console;
    this.home = home;
    this.imageNamespaces = imageNamespaces;
    this.#apiServer = apiServer;
    this.#access = access;
    const cacheOf = (namespace: string) =>
      new WatchCache<ConfigMap>(
        { client: apiServer.asService, metrics, log },
        {
          name: `configmaps in ${namespace}`,
          type: configMapType,
          namespace,
          keep: (object) => keepConfigMap(object, namespace, namespace === home ? envsConfigMap : undefined),
        },
      );
    this.#caches = new Map([...new Set([home, ...imageNamespaces])].map((namespace) => [namespace, cacheOf(namespace)]));
  }

  start(): void {
    for (const cache of this.#caches.values()) cache.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#caches.values()].map((cache) => cache.stop()));
  }

  /** Returns the namespaces whose ConfigMaps may be outdated; undefined if there are none. */
  failure(): string | undefined {
    const stale = [...this.#caches].filter(([, cache]) => cache.isStale()).map(([namespace]) => namespace);
    return stale.length === 0 ? undefined : `out of date in: ${stale.join(', ')}`;
  }

  /**
   * Reports whether the known ConfigMaps of a namespace may be outdated.
   *
   * @throws StatusError 503 if the caller is authenticated and the API server cannot be reached, because permissions are unknown
   */
  isStale(namespace: string, caller: Caller | undefined): boolean {
    const cache = this.#cache(namespace);
    // Before its first list a watch is stale, which is reported only after a failure.
    if (cache.isSynced ? !cache.isStale() : cache.failure() === undefined) return false;
    if (caller !== undefined && this.#apiServer.failure() !== undefined) throw serviceUnavailable('kubernetes');
    return true;
  }

  /** Waits for a moment for the first list, so that callers need not retry right after the start. */
  async firstList(namespace: string, signal: AbortSignal): Promise<void> {
    const cache = this.#cache(namespace);
    if (cache.isSynced || cache.failure() !== undefined) return;
    await cache.until(() => cache.isSynced, firstListMs, signal);
    signal.throwIfAborted();
  }

  /** @throws StatusError 503 if the namespace was never read */
  get(namespace: string, name: string): ConfigMap | undefined {
    return this.#synced(namespace).get(name);
  }

  /** Reports whether the ConfigMaps of the namespace have been read. */
  isKnown(namespace: string): boolean {
    return this.#cache(namespace).isSynced;
  }

  /** Returns the last known ConfigMap, however old. */
  known(namespace: string, name: string): ConfigMap | undefined {
    return this.#cache(namespace).get(name);
  }

  /** @throws StatusError 503 if the namespace was never read */
  all(namespace: string): Iterable<ConfigMap> {
    return this.#synced(namespace).values();
  }

  /** Calls the listener after a change of a ConfigMap in the home namespace that `concerns` selects; without a map after its deletion. */
  onChange(concerns: (map: ConfigMap) => boolean, listener: (map: ConfigMap | undefined) => void): void {
    this.#cache(this.home).onChange((change) => {
      if ([change.old, change.new].some((map) => map !== undefined && concerns(map))) listener(change.new);
    });
  }

  /** `can(get configmaps NAME)` */
  canGet(caller: Caller, namespace: string, name: string, signal: AbortSignal): Promise<boolean> {
    return this.#access.can(caller, { verb: 'get', ...configMapType, namespace, name }, signal);
  }

  /**
   * Reads the whole map from the API server with the caller's own rights.
   *
   * @throws StatusError of the API server: 401, 403 independent of the map's existence, 404; 503, 504
   */
  async readAs(bearer: Bearer, { namespace, name }: { namespace: string; name: string }, signal: AbortSignal): Promise<MapWithContents> {
    const maps = new CallerResource(this.#apiServer.asCaller(bearer), { type: configMapType, kind: 'ConfigMap', namespace });
    const object = await maps.get(name, signal);
    return { ...keepConfigMap(object, namespace, undefined), contents: contentsOf(object) };
  }

  #cache(namespace: string): WatchCache<ConfigMap> {
    const cache = this.#caches.get(namespace);
    if (cache === undefined) throw new Error(`the ConfigMaps of namespace ${namespace} are not watched`);
    return cache;
  }

  #synced(namespace: string): WatchCache<ConfigMap> {
    const cache = this.#cache(namespace);
    if (!cache.isSynced) throw serviceUnavailable('kubernetes');
    return cache;
  }
}
