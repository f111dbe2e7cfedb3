import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { type Collection, collection, liveLists } from '@atrium/lists/collection.ts';
import type { LiveLists } from '@atrium/lists/live-list-answer.ts';
import type { WhileAllowedOptions } from '@atrium/lists/while-allowed.ts';
import { notFound, serviceUnavailable } from '@atrium/objects/status.ts';
import type { ListedResource as Setting } from '../config/lists-section.ts';
import type { Services } from '../services.ts';
import { type Column, columnOf, merged, type PrinterColumns, printerColumns, shownColumn } from './columns.ts';
import { isDefined, knownColumns } from './known-columns.ts';
import { ResourceRow, rowProperties } from './row.ts';

export const rowsApiVersion = 'auth.platform.io/v1';
const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };

/** Rows of a resource, and their columns. */
export interface Rows {
  readonly columns: readonly Column[];
  readonly collection: Collection<ResourceRow>;
  readonly live: LiveLists<ResourceRow>;
}

/**
 * Objects of a page of the first list. Pages of 500 whole pods outlive the young generation before their rows are made, and 5,000 pods then
 * leave 29 MiB more of garbage.
 */
const wholePageSize = 100;

/** A resource that the configuration names. Its custom resource definition, if it has one, is read before its objects. */
export class ListedResource {
  readonly type: ResourceType;
  readonly #services: Services;
  readonly #setting: Setting;
  readonly #guard: WhileAllowedOptions;
  readonly #definition: WatchCache<PrinterColumns> | undefined;
  #rows: Rows | undefined;
  #unread: readonly string[] = [];

  constructor(services: Services, setting: Setting, guard: WhileAllowedOptions) {
    const { group, version, resource } = setting;
    this.type = { group, version, resource };
    this.#services = services;
    this.#setting = setting;
    this.#guard = guard;
    if (isDefined(this.type)) this.#definition = this.#follow();
    else this.#rows = this.#make(knownColumns(this.type));
  }

  start(): void {
    this.#rows?.collection.start();
    this.#definition?.start();
  }

  async stop(): Promise<void> {
    await this.#definition?.stop();
    await this.#rows?.collection.stop();
  }

  /** Returns the reason why there are no rows yet; undefined if there are rows, or if the API server does not know the resource. */
  failure(): string | undefined {
    const why = this.#isMissing ? undefined : (this.#rows?.collection.cache ?? this.#definition)?.missing();
    return why && `${this.#name}: ${why}`;
  }

  /** Returns a text that names the printer columns that are left out, undefined if there are none. */
  leftOut(): string | undefined {
    return this.#unread.length === 0 ? undefined : `${this.#name} has ${unreadWords}: ${this.#unread.join(', ')}`;
  }

  /** Columns of the rows; undefined if the API server does not know the resource, or if that is not known yet. */
  get columns(): readonly Column[] | undefined {
    return this.#isMissing ? undefined : this.#rows?.columns;
  }

  /** Returns the rows. @throws StatusError 404 if the API server does not know the resource, 503 if that is not known yet */
  rows(): Rows {
    if (this.#isMissing) throw notFound(this.type, this.#name);
    if (this.#rows === undefined) throw serviceUnavailable('kubernetes', { cause: new Error(this.failure()) });
    return this.#rows;
  }

  /** Reports whether the objects are known to have no namespace. */
  get isOfCluster(): boolean {
    const [any] = this.#rows?.collection.cache.values() ?? [];
    return any?.namespace === '';
  }

  get #isMissing(): boolean {
    return this.#rows ? this.#rows.collection.cache.state === 'notInstalled' : this.#definition?.isSynced === true;
  }

  /** Name of the resource in metrics and the log. */
  get #name(): string {
    const { group, version, resource } = this.type;
    return `${resource}.${version}.${group === '' ? 'core' : group}`;
  }

  #make(ownColumns: readonly Column[]): Rows {
    const { columns: named, maxObjects } = this.#setting;
    const columns = merged([...ownColumns, ...named.flatMap((column) => columnOf(column) ?? [])]);
    const isMetadataOnly = columns.every(({ isOfMetadata }) => isOfMetadata === true);
    const options = {
      resource: this.type,
      kind: 'ResourceRow',
      name: this.#name,
      maxObjects,
      // Only members that a column shows are read: ConfigMaps may hold 1 MiB each.
      isMetadataOnly,
      ...(!isMetadataOnly && { pageSize: wholePageSize }),
      // Columns of built-in kinds hold no integers that a double cannot hold.
      keepsDigits: isDefined(this.type),
      answer: {
        apiVersion: rowsApiVersion,
        extra: { resource: this.type, columns: columns.map(shownColumn) },
      },
      properties: rowProperties(columns),
      row: (object: ConstructorParameters<typeof ResourceRow>[0]) => new ResourceRow(object, columns),
    };
    const rows = collection<ResourceRow>(this.#services, options);
    return { columns, collection: rows, live: liveLists(rows, options, this.#guard) };
  }

  /**
   * Watches the definition until it exists. Later changes of its columns take effect after a restart, because all rows would have to be
   * made again.
   */
  #follow(): WatchCache<PrinterColumns> {
    const { group, version, resource } = this.type;
    const { client, log, metrics } = this.#services;
    const definition = new WatchCache<PrinterColumns>(
      { client, log, metrics },
      {
        name: `definition of ${this.#name}`,
        type: definitions,
        fieldSelector: `metadata.name=${resource}.${group}`,
        keep: (object) => printerColumns(object, version),
      },
    );
    definition.onChange(({ new: found }) => {
      if (found === undefined || this.#rows !== undefined) return;
      this.#unread = found.unread;
      if (found.unread.length > 0) log.warn({ resource: this.#name, columns: found.unread }, unreadWords);
      this.#rows = this.#make(found.columns);
      this.#rows.collection.start();
      void definition.stop();
    });
    return definition;
  }
}

/** The API server itself shows neither these columns nor the columns behind them. */
const unreadWords = 'printer columns whose JSONPath cannot be read';
