import type { Check } from '../http/health.ts';
import type { ResourceType } from '../kubernetes/resource.ts';
import type { Services } from '../services.ts';
import { type Change, WatchCache } from '../watch/watch-cache.ts';
import { type ConsolePlugin, keepConsolePlugin, manifestName } from './console-plugin.ts';
import { choosePolicy, type PolicyAddition, type PolicyChoice, PublicSuffixes } from './policy-sources.ts';

/** An enabled plugin, as consoles see it. */
export interface EnabledPlugin {
  name: string;
  displayName: string;
  order: number;
  source: 'ConfigMap' | 'Service';
  /** Path of its manifest, below the base path. */
  manifest: string;
  /** SHA-256 that the manifest must have. */
  integrity?: string;
}

export const consolePluginType: ResourceType = { group: 'console.platform.io', version: 'v1', resource: 'consoleplugins' };

/**
 * Watch of the ConsolePlugins of the cluster. The collection is empty if their definition is not installed, and before the first list;
 * requests do not wait for it.
 */
export class ConsolePlugins {
  readonly #cache: WatchCache<ConsolePlugin>;
  readonly #suffixes = new PublicSuffixes();

  constructor({ client, metrics, log }: Services) {
    this.#cache = new WatchCache<ConsolePlugin>(
      { client, metrics, log },
      { name: 'consoleplugins', type: consolePluginType, keep: keepConsolePlugin },
    );
    this.#cache.onChange(({ new: plugin }) => {
      if (plugin) this.#suffixes.loadFor(plugin.policy).catch((error: unknown) => log.warn({ err: error }, 'no list of public suffixes'));
    });
  }

  /** Readiness check: before the first list a replica would serve disabled plugins, and miss those from Services. */
  get checks(): Check[] {
    const isThere = () => (this.#cache.isSynced && !this.#suffixes.isLoading) || this.#cache.failure() !== undefined;
    const failure = () => (isThere() ? undefined : 'not read yet');
    return [{ name: 'console-plugins', critical: false, isAwaited: true, failure }];
  }

  start(): void {
    this.#cache.start();
  }

  stop(): Promise<void> {
    return this.#cache.stop();
  }

  /** Increases with every change of the ConsolePlugins or of their permitted policy additions. */
  get revision(): number {
    return this.#cache.revision + this.#suffixes.revision;
  }

  /** @throws the signal's reason when it aborts before */
  whenSynced(signal: AbortSignal): Promise<void> {
    return this.#cache.whenSynced(signal);
  }

  /** @returns a function that removes the listener */
  onChange(listener: (change: Change<ConsolePlugin>) => void): () => void {
    return this.#cache.onChange(listener);
  }

  get(plugin: string): ConsolePlugin | undefined {
    return this.#cache.get(plugin);
  }

  all(): Iterable<ConsolePlugin> {
    return this.#cache.values();
  }

  isDisabled(plugin: string): boolean {
    return this.#cache.get(plugin)?.isEnabled === false;
  }

  /** Returns the enabled plugins in their order, as consoles see them. */
  enabled(): EnabledPlugin[] {
    return [...this.#cache.values()]
      .filter(({ isEnabled }) => isEnabled)
      .sort((left, right) => left.order - right.order || (left.name < right.name ? -1 : 1))
      .map(({ name, displayName, order, backend, integrity }) => ({
        name,
        displayName,
        order,
        source: backend === undefined ? 'ConfigMap' : 'Service',
        manifest: `/plugins/${name}/${manifestName}`,
        ...(integrity !== undefined && { integrity }),
      }));
  }

  /** Decides which policy additions of the plugin are accepted. */
  async policyOf({ policy }: ConsolePlugin): Promise<PolicyChoice> {
    await this.#suffixes.loadFor(policy);
    return choosePolicy(policy, this.#suffixes);
  }

  /** Returns the accepted policy additions of all enabled plugins. */
  policyAdditions(): PolicyAddition[] {
    return [...this.#cache.values()]
      .filter(({ isEnabled }) => isEnabled)
      .flatMap(({ policy }) => choosePolicy(policy, this.#suffixes).taken);
  }
}
