import type { Logger } from 'pino';
import type { Metrics } from '../http/metrics.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { isRecord, type KubernetesObject } from '../kubernetes/resource.ts';
import { WatchCache } from '../kubernetes/watch-cache.ts';
import type { PolicyAddition } from './content-security-policy.ts';

/** What is kept of a ConsolePlugin (`consoleplugins.console.platform.io`, see crds.md). */
interface ConsolePlugin {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly policy: readonly PolicyAddition[];
}

/**
 * The ConsolePlugin objects of the cluster. Where their definition is not installed, or before the first list, there are none:
 * nothing waits for them.
 */
export class ConsolePlugins {
  readonly #cache: WatchCache<ConsolePlugin>;

  constructor({ client, metrics, log }: { client: ServiceClient; metrics: Metrics; log: Logger }) {
    this.#cache = new WatchCache<ConsolePlugin>(
      { client, metrics, log },
      {
        name: 'consoleplugins',
        type: { group: 'console.platform.io', version: 'v1', resource: 'consoleplugins' },
        keep: keepConsolePlugin,
      },
    );
  }

  start(): void {
    this.#cache.start();
  }

  stop(): Promise<void> {
    return this.#cache.stop();
  }

  /** Grows with every change. */
  get revision(): number {
    return this.#cache.revision;
  }

  isDisabled(plugin: string): boolean {
    return this.#cache.get(plugin)?.isEnabled === false;
  }

  /** What the enabled ones need beyond the console's own policy. */
  policyAdditions(): PolicyAddition[] {
    return [...this.#cache.values()].filter(({ isEnabled }) => isEnabled).flatMap(({ policy }) => policy);
  }
}

function keepConsolePlugin({ metadata: { name }, spec }: KubernetesObject): ConsolePlugin {
  const { enabled, contentSecurityPolicy } = isRecord(spec) ? spec : {};
  const policy = Array.isArray(contentSecurityPolicy) ? contentSecurityPolicy.filter(isPolicyAddition) : [];
  return { name, isEnabled: enabled !== false, policy };
}

const isPolicyAddition = (value: unknown): value is PolicyAddition =>
  isRecord(value) &&
  typeof value.directive === 'string' &&
  Array.isArray(value.values) &&
  value.values.every((source: unknown) => typeof source === 'string');
