import type { Check } from '../http/health.ts';
import type { ResourceType } from '../kubernetes/resource.ts';
import { type Change, WatchCache } from '../kubernetes/watch-cache.ts';
import type { Services } from '../services.ts';
import { type ConsolePlugin, keepConsolePlugin, manifestName } from './console-plugin.ts';
import { choosePolicy, type PolicyAddition, type PolicyChoice, PublicSuffixes } from './policy-sources.ts';

/** An enabled plugin, as a console is told of it. */
export interface EnabledPlugin {
  name: string;
  displayName: string;
  order: number;
  source: 'ConfigMap' | 'Service';
  /** Path of its manifest, below the base path. */
  manifest: string;
  /** Pins the manifest. */
  integrity?: string;
}

export const consolePluginType: ResourceType = { group: 'console.platform.io', version: 'v1', resource: 'consoleplugins' };

/**
 * The ConsolePlugin objects of the cluster. Where their definition is not installed, or before the first list, there are none:
 * nothing waits for them.
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

  /** A replica that has not seen them yet would serve what is disabled, and miss what comes from Services. */
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

  /** Grows with every change, of what they may add to the policy of pages as well. */
  get revision(): number {
    return this.#cache.revision + this.#suffixes.revision;
  }

  /** @throws the signal's reason when it aborts before */
  whenSynced(signal: AbortSignal): Promise<void> {
    return this.#cache.whenSynced(signal);
  }

  /** @returns a function that ends it */
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

  /** The enabled ones, as a console is told of them, in their order. */
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

  /** What of that plugin's wishes goes into the policy of pages. */
  async policyOf({ policy }: ConsolePlugin): Promise<PolicyChoice> {
    await this.#suffixes.loadFor(policy);
    return choosePolicy(policy, this.#suffixes);
  }

  /** What the enabled ones need beyond the console's own policy. */
  policyAdditions(): PolicyAddition[] {
    return [...this.#cache.values()]
      .filter(({ isEnabled }) => isEnabled)
      .flatMap(({ policy }) => choosePolicy(policy, this.#suffixes).taken);
  }
}
