/** Labels and annotations by which ConfigMaps give images, variables and plugins to the console, and which callers see them. */
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';

const labels = { public: 'console.platform.io/public', plugin: 'console.platform.io/plugin' };
const annotations = { path: 'console.platform.io/path', order: 'console.platform.io/order' };

/** Maps instead of objects, because `__proto__` is a legal key of a ConfigMap. */
export interface ConfigMapContents {
  readonly data: ReadonlyMap<string, string>;
  /** Base64. */
  readonly binaryData: ReadonlyMap<string, string>;
}

/** The cached part of a ConfigMap: the same object until its resource version changes. */
export interface ConfigMap {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** True if every caller may see it. */
  readonly isPublic: boolean;
  /** The plugin whose files it holds, with its unparsed annotations. */
  readonly plugin?: { readonly name: string; readonly path: string | undefined; readonly order: string | undefined };
  /** Contents of public, plugin and environment maps. Other maps are read with the caller's rights. */
  readonly contents?: ConfigMapContents;
}

export type MapWithContents = ConfigMap & { readonly contents: ConfigMapContents };

/** Returns the cached part of a ConfigMap. */
export function keepConfigMap(object: KubernetesObject, namespace: string, envsConfigMap: string | undefined): ConfigMap {
  const { name, uid, resourceVersion } = object.metadata;
  const isPublic = object.metadata.labels?.[labels.public] === 'true';
  const plugin = object.metadata.labels?.[labels.plugin];
  const note = object.metadata.annotations;
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    isPublic,
    ...(plugin !== undefined && { plugin: { name: plugin, path: note?.[annotations.path], order: note?.[annotations.order] } }),
    ...((isPublic || plugin !== undefined || name === envsConfigMap) && { contents: contentsOf(object) }),
  };
}

export const contentsOf = ({ data, binaryData }: KubernetesObject): ConfigMapContents => ({
  data: textsOf(data),
  binaryData: textsOf(binaryData),
});

const textsOf = (value: unknown): ReadonlyMap<string, string> =>
  new Map(typeof value === 'object' && value !== null ? Object.entries(value).filter(([, text]) => typeof text === 'string') : []);
