import type { Check } from '@atrium/http/health.ts';
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import { type Change, WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { choosePolicy, type PolicyAddition, type PolicyChoice, PublicSuffixes } from './content-security-policy.ts';

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
      if (plugin)
        this.#suffixes.loadFor(plugin.policy).catch((error: unknown) => log.warn({ err: error }, 'public suffix list unavailable'));
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

export const manifestName = 'plugin-manifest.json';

const defaultOrder = 1000;

const dnsLabel = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);

/** A reference by name, because no address is a DNS label. Repeats the rules of the definition, which a cluster may have loosened. */
const serviceReference = z
  .object({
    name: dnsLabel,
    namespace: dnsLabel,
    port: z.int().min(1).max(65_535),
    basePath: z
      .string()
      .max(256)
      .regex(/^[-\w.~!$&'()*+,;=:@/]*$/)
      .refine((path) => !path.split('/').some((segment) => segment === '.' || segment.startsWith('..')))
      .default('/'),
  })
  .refine(({ name, namespace }) => !(name === 'kubernetes' && namespace === 'default'))
  .transform(({ basePath, ...service }) => ({ ...service, basePath: `/${basePath}`.replace(/\/+/g, '/').replace(/\/$/, '') }));

/** A Service of the cluster; `basePath` is '' or begins with a slash and ends without one. */
export type ServiceReference = z.output<typeof serviceReference>;

const proxyEntry = z.object({
  alias: z.string().regex(/^[A-Za-z0-9_-]{1,63}$/),
  service: serviceReference,
  caCertificate: z.string().max(65_536).exactOptional(),
  authorization: z.enum(['None', 'UserToken']).default('None'),
});

/** A Service that pages of the plugin may reach through the console. */
export type ProxyEntry = z.output<typeof proxyEntry>;

const policyAddition = z.object({ directive: z.string(), values: z.array(z.string()) });

const condition = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().default(''),
  message: z.string().default(''),
  lastTransitionTime: z.string().default(''),
  observedGeneration: z.number().exactOptional(),
});

/** A condition in the form of Kubernetes. */
type Condition = z.output<typeof condition>;

/** The cached part of a ConsolePlugin (`consoleplugins.console.platform.io`, see docs/contract/resources.md). */
export interface ConsolePlugin {
  readonly name: string;
  readonly resourceVersion: string;
  readonly generation: number | undefined;
  readonly displayName: string;
  readonly isEnabled: boolean;
  /** Position among the plugins. */
  readonly order: number;
  /** Pins the manifest: `sha256-` and the digest in base64. */
  readonly integrity: string | undefined;
  /** Service of the assets; `unfit` for an invalid reference. Undefined: the assets are in ConfigMaps. */
  readonly backend: ServiceReference | 'unfit' | undefined;
  /** Proxy entries by alias. */
  readonly proxies: ReadonlyMap<string, ProxyEntry>;
  /** Additions to the Content-Security-Policy of pages that the plugin requests. */
  readonly policy: readonly PolicyAddition[];
  readonly status: { readonly version: string | undefined; readonly conditions: readonly Condition[] };
}

const tolerant = z.object({
  displayName: z.string().catch(''),
  order: z.int().catch(defaultOrder),
  integrity: z.string().optional().catch(undefined),
  enabled: z.boolean().catch(true),
  backend: z.object({ service: z.unknown() }).optional().catch(undefined),
  proxy: z.array(z.unknown()).catch([]),
  contentSecurityPolicy: z.array(z.unknown()).catch([]),
});

const tolerantStatus = z.object({ version: z.string().optional().catch(undefined), conditions: z.array(z.unknown()).catch([]) });

/** Reads a ConsolePlugin. Invalid members are dropped, and the others are kept. */
export function keepConsolePlugin({ metadata, spec, status }: KubernetesObject): ConsolePlugin {
  const { displayName, order, integrity, enabled, backend, proxy, contentSecurityPolicy } = tolerant.parse(spec ?? {});
  const { version, conditions } = tolerantStatus.parse(status ?? {});
  const service = backend?.service === undefined ? undefined : serviceReference.safeParse(backend.service);
  return {
    name: metadata.name,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    displayName: displayName || metadata.name,
    isEnabled: enabled,
    order,
    integrity,
    backend: service && (service.success ? service.data : 'unfit'),
    proxies: new Map(fitting(proxyEntry, proxy).map((entry) => [entry.alias, entry])),
    policy: fitting(policyAddition, contentSecurityPolicy),
    status: { version, conditions: fitting(condition, conditions) },
  };
}

const fitting = <T extends z.ZodType>(schema: T, values: readonly unknown[]): z.output<T>[] =>
  values.map((value) => schema.safeParse(value)).flatMap((result) => (result.success ? [result.data] : []));
