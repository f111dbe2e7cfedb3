import { WatchCache, type WatchCacheParts } from './watch-cache.ts';

const group = 'rbac.authorization.k8s.io';
const resources = ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'];

/** Watches who may do what, and says so when it changes. Only metadata is asked for: the API server evaluates the rules, not we. */
export class RbacWatch {
  readonly #caches: readonly WatchCache<string>[];

  constructor(parts: WatchCacheParts, onChange: () => void) {
    this.#caches = resources.map((resource) => {
      const type = { group, version: 'v1', resource };
      const cache = new WatchCache<string>(parts, {
        name: resource,
        type,
        isMetadataOnly: true,
        keep: ({ metadata }) => metadata.resourceVersion,
      });
      cache.onChange(onChange);
      return cache;
    });
  }

  start(): void {
    for (const cache of this.#caches) cache.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#caches.map((cache) => cache.stop()));
  }

  /** Why changes may go unnoticed for now; undefined if they do not. */
  failure(): string | undefined {
    const failed = this.#caches.map((cache) => cache.failure()).find((why) => why !== undefined);
    return failed ?? (this.#caches.every((cache) => cache.isSynced) ? undefined : 'not listed yet');
  }
}
