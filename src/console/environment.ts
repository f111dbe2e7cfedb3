import type { Caller } from '@atrium/http/caller.ts';
import { type Brand, brandOf } from './brand.ts';
import type { ConfigMap } from './config-map-labels.ts';
import type { ConfigMaps } from './config-maps.ts';

/** Names and values, sorted by the bytes of the names. Unchanged variables are the same array. */
export type Variables = readonly (readonly [name: string, value: string])[];

/** Process variables that are never public, even if the filter selects them: variables are often added after the filter was written. */
const looksSecret = /SECRET|TOKEN|PASSW|PRIVATE|CREDENTIAL|KUBE|KEY$|^ATRIUM_/i;

/** Returns the process variables that the filter selects. */
export function publicVariables(environment: Readonly<Record<string, string | undefined>>, filter: string): Variables {
  const allowed = new RegExp(filter);
  return Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && allowed.test(entry[0]) && !looksSecret.test(entry[0]),
  );
}

/** Merges variables. Later layers override earlier ones. */
export function mergeVariables(...layers: readonly Iterable<readonly [string, string]>[]): Variables {
  const merged = new Map<string, string>();
  for (const layer of layers) for (const [name, value] of layer) merged.set(name, value);
  return [...merged].sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
}

/** Variables that a caller may see; `isStale` if they may be outdated. */
export interface Visible {
  readonly variables: Variables;
  readonly isStale: boolean;
}

/** Variables of the console. */
export class Environment {
  readonly #configMaps: ConfigMaps;
  readonly #base: Variables;
  readonly #envsConfigMap: string | undefined;
  #merged: { readonly map: ConfigMap; readonly variables: Variables } | undefined;

  /** @param base process variables and `console.envs`, merged */
  constructor(configMaps: ConfigMaps, base: Variables, envsConfigMap: string | undefined) {
    this.#configMaps = configMaps;
    this.#base = base;
    this.#envsConfigMap = envsConfigMap;
  }

  /** Returns a value, or a promise if a request is needed. @throws StatusError 503 if the ConfigMap or the caller's rights are unknown */
  visibleTo(caller: Caller | undefined, request: Readonly<{ signal: AbortSignal }>): Visible | Promise<Visible> {
    const { home } = this.#configMaps;
    if (this.#envsConfigMap === undefined) return { variables: this.#base, isStale: this.#configMaps.isStale(home, caller) };
    return this.#withConfigMap(this.#envsConfigMap, caller, request.signal);
  }

  async #withConfigMap(name: string, caller: Caller | undefined, signal: AbortSignal): Promise<Visible> {
    const { home } = this.#configMaps;
    await this.#configMaps.firstList(home, signal);
    const isStale = this.#configMaps.isStale(home, caller);
    const map = this.#configMaps.get(home, name);
    if (map?.contents === undefined || !(await this.#maySee(map, caller, signal))) return { variables: this.#base, isStale };
    if (this.#merged?.map !== map) this.#merged = { map, variables: mergeVariables(this.#base, map.contents.data) };
    return { variables: this.#merged.variables, isStale };
  }

  /** Returns the brand for the login pages, from public variables. */
  brand(): Brand {
    const { home } = this.#configMaps;
    const map = this.#envsConfigMap === undefined ? undefined : this.#configMaps.known(home, this.#envsConfigMap);
    const base = Object.fromEntries(this.#base);
    return brandOf(map?.isPublic ? { ...base, ...Object.fromEntries(map.contents?.data ?? []) } : base);
  }

  async #maySee({ isPublic, namespace, name }: ConfigMap, caller: Caller | undefined, signal: AbortSignal): Promise<boolean> {
    return isPublic || (caller !== undefined && (await this.#configMaps.canGet(caller, namespace, name, signal)));
  }
}
