import { hash } from 'node:crypto';
import type { Caller } from '@atrium/http/caller.ts';
import { type JsonText, jsonText } from '@atrium/http/json-answers.ts';
import { reportCache } from '@atrium/http/limits/reports.ts';
import { compareResourceVersions } from '@atrium/kubernetes/resource-version.ts';
import { LRUCache } from 'lru-cache';
import type { ConsolePlugins, EnabledPlugin } from '../plugins/console-plugins.ts';
import type { Services } from '../services.ts';
import type { ConfigMap } from './config-map-labels.ts';
import type { ConfigMaps } from './config-maps.ts';
import { manifestKey, type PluginEvents, type PluginFile, type PluginMap, type RefusedMap, readPluginMap } from './plugin-map.ts';

const maxFiles = 500;
const maxBytes = 8 * 1024 * 1024;
/** Bound of the maps that one request reviews: enough to fill a list with private files that the caller may see. */
const maxReviews = maxFiles;
const reviewsAtOnce = 16;
/** Bound of the prepared answers in memory, in bytes. */
const maxAnswerSize = 4 * maxBytes;

/** A file, and its visibility. */
export interface FoundFile {
  readonly file: PluginFile;
  /** True if every caller may see it. */
  readonly isPublic: boolean;
  /** True if the file may be outdated. */
  readonly isStale: boolean;
}

/** Maps in their order, and the files of each path in the order of their maps. */
interface CurrentMaps {
  readonly revision: string;
  readonly maps: readonly PluginMap[];
  readonly byPath: ReadonlyMap<string, readonly { file: PluginFile; map: PluginMap }[]>;
}

/** Files of console plugins in ConfigMaps of the home namespace. */
export class PluginFiles {
  readonly #configMaps: ConfigMaps;
  readonly #consolePlugins: ConsolePlugins;
  readonly #events: PluginEvents;
  /** Parsed ConfigMaps. Each version is parsed once. */
  readonly #read = new WeakMap<ConfigMap, PluginMap | RefusedMap>();
  readonly #answers = new LRUCache<string, JsonText>({ maxSize: maxAnswerSize, sizeCalculation: ({ bytes }) => bytes.length + 1 });
  readonly #listeners = new Set<() => void>();
  #revision = 0;
  #sorted: CurrentMaps | undefined;

  constructor({ metrics }: Services, configMaps: ConfigMaps, consolePlugins: ConsolePlugins, events: PluginEvents) {
    this.#configMaps = configMaps;
    this.#consolePlugins = consolePlugins;
    this.#events = events;
    this.#configMaps.onChange(
      (map) => map.plugin !== undefined,
      (map) => {
        this.#revision += 1;
        if (map?.plugin !== undefined) this.#readOnce(map);
        for (const listener of this.#listeners) listener();
      },
    );
    reportCache(metrics, 'plugin answers', () => this.#answers.size);
  }

  /**
   * Returns the files that the caller may see, as a prepared answer.
   *
   * @throws StatusError 503 if the ConfigMaps were never read, or the caller's rights are unknown
   */
  async list(caller: Caller | undefined, signal: AbortSignal): Promise<{ answer: JsonText; isStale: boolean }> {
    await this.#configMaps.firstList(this.#configMaps.home, signal);
    const isStale = this.#configMaps.isStale(this.#configMaps.home, caller);
    const { revision, maps } = this.#current();
    const allowed = caller === undefined ? new Set<PluginMap>() : await this.#allowed(caller, maps, signal);
    const key = `${revision} ${hash('sha256', [...allowed].map(({ configMap }) => configMap.name).join())}`;
    let answer = this.#answers.get(key);
    if (answer === undefined) {
      const visible = maps.filter((map) => map.configMap.isPublic || allowed.has(map));
      answer = jsonText({ ...fileList(visible), plugins: this.#pluginsOf(visible) });
      this.#answers.set(key, answer);
    }
    return { answer, isStale };
  }

  /**
   * Returns the file at a path, from the first map that the caller may see.
   *
   * @param path a path of the list
   * @throws StatusError like `list`
   */
  async find(path: string, caller: Caller | undefined, signal: AbortSignal): Promise<FoundFile | undefined> {
    const { home } = this.#configMaps;
    await this.#configMaps.firstList(home, signal);
    const isStale = this.#configMaps.isStale(home, caller);
    for (const { file, map } of this.#current().byPath.get(path) ?? []) {
      const { isPublic, name } = map.configMap;
      if (isPublic || (caller !== undefined && (await this.#configMaps.canGet(caller, home, name, signal))))
        return { file, isPublic, isStale };
    }
    return undefined;
  }

  /** Returns the manifest of a plugin without a check of permissions; undefined if no ConfigMap has one. @throws StatusError 503 */
  manifestOf(plugin: string): string | undefined {
    const file = this.#current().byPath.get(`/plugins/${plugin}/${manifestKey}`)?.[0]?.file;
    return file && Buffer.from(file.contents, file.encoding).toString();
  }

  /** Returns the public files `locales/<language>.json` in the order of their plugins; empty before the ConfigMaps are known. */
  localesOf(language: string): readonly PluginFile[] {
    if (!this.#configMaps.isKnown(this.#configMaps.home)) return [];
    const isLocale = ({ plugin, path }: PluginFile) => path === `/plugins/${plugin}/locales/${language}.json`;
    return this.#current().maps.flatMap(({ configMap, files }) => (configMap.isPublic ? files.filter(isLocale) : []));
  }

  /** Calls the listener after every change of a ConfigMap with plugin files. @returns a function that removes the listener */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Returns the maps of plugins that are not disabled, in their order. */
  #current(): CurrentMaps {
    const all = this.#configMaps.all(this.#configMaps.home);
    const revision = `${this.#revision}.${this.#consolePlugins.revision}`;
    if (this.#sorted?.revision !== revision) {
      const maps = [...all]
        .filter(({ plugin }) => plugin !== undefined && !this.#consolePlugins.isDisabled(plugin.name))
        .map((map) => this.#readOnce(map))
        .filter((map) => 'files' in map)
        .sort(
          (left, right) =>
            left.order - right.order || compare(left.plugin, right.plugin) || compare(left.configMap.name, right.configMap.name),
        );
      this.#sorted = { revision, maps, byPath: filesByPath(maps) };
      this.#answers.clear();
    }
    return this.#sorted;
  }

  /** Returns the enabled plugins whose manifest the caller may see. Files of a Service are public. */
  #pluginsOf(visible: readonly PluginMap[]): EnabledPlugin[] {
    const paths = new Set(visible.flatMap(({ files }) => files.map(({ path }) => path)));
    return this.#consolePlugins.enabled().filter(({ source, manifest }) => source === 'Service' || paths.has(manifest));
  }

  #readOnce(map: ConfigMap): PluginMap | RefusedMap {
    const known = this.#read.get(map);
    if (known !== undefined) return known;
    const read = readPluginMap(map);
    this.#read.set(map, read);
    if ('refusal' in read) this.#events.refused(read);
    return read;
  }

  /** Returns the private maps that the caller may get. */
  async #allowed(caller: Caller, maps: readonly PluginMap[], signal: AbortSignal): Promise<Set<PluginMap>> {
    const { home } = this.#configMaps;
    const asked = maps.filter(({ configMap }) => !configMap.isPublic).slice(0, maxReviews);
    const allowed = new Set<PluginMap>();
    for (let at = 0; at < asked.length; at += reviewsAtOnce) {
      const some = asked.slice(at, at + reviewsAtOnce);
      const answers = await Promise.all(some.map(({ configMap }) => this.#configMaps.canGet(caller, home, configMap.name, signal)));
      for (const [index, map] of some.entries()) if (answers[index]) allowed.add(map);
    }
    return allowed;
  }
}

function filesByPath(maps: readonly PluginMap[]): CurrentMaps['byPath'] {
  const byPath = new Map<string, { file: PluginFile; map: PluginMap }[]>();
  for (const map of maps) {
    for (const file of map.files) {
      const same = byPath.get(file.path);
      if (same === undefined) byPath.set(file.path, [{ file, map }]);
      else same.push({ file, map });
    }
  }
  return byPath;
}

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

/** Lists whole maps up to the bounds. A map that is too large is skipped, and smaller ones after it may still fit. */
function fileList(maps: readonly PluginMap[]) {
  const byPath = new Map<string, { order: number; file: PluginFile }>();
  let bytes = 0;
  let left = 0;
  let resourceVersion = '0';
  for (const map of maps) {
    const { resourceVersion: version } = map.configMap;
    if ((compareResourceVersions(version, resourceVersion) ?? 1) > 0) resourceVersion = version;
    if (byPath.size + map.files.length > maxFiles || bytes + map.bytes > maxBytes) {
      left += map.files.length;
      continue;
    }
    bytes += map.bytes;
    for (const file of map.files) if (!byPath.has(file.path)) byPath.set(file.path, { order: map.order, file });
  }
  const items = [...byPath.values()]
    .sort((one, other) => one.order - other.order || compare(one.file.plugin, other.file.plugin) || compare(one.file.path, other.file.path))
    .map(({ file }) => file);
  return {
    apiVersion: 'console.platform.io/v1',
    kind: 'ConsolePluginFileList',
    metadata: { resourceVersion, ...(left > 0 && { remainingItemCount: left }) },
    items,
  };
}
