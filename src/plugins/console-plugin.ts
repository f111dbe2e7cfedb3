import { z } from 'zod';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import type { PolicyAddition } from './policy-sources.ts';

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
