import { SharedValues } from '@atrium/http/limits/bounded-cache.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { ListProperties, SortValue } from '@atrium/lists/properties.ts';
import { folded } from '@atrium/objects/folded.ts';
import { exactValue } from '@atrium/objects/json.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import type { Column, Value } from './columns.ts';

/**
 * Members of an object that a list shows. There may be 200,000 rows, so that their JSON text is made on demand, and equal texts of many
 * rows share one string.
 */
export class ResourceRow {
  readonly namespace: string;
  readonly shownName: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly labels: Readonly<Record<string, string>>;
  /** `Kind/name` of the controller, '' if there is none. */
  readonly owner: string;
  /** Values in the order of the columns. */
  readonly values: readonly Value[];
  /**
   * Quantities of the values, parsed once because a sort compares each value many times. Undefined if no value is a quantity, as in most
   * rows.
   */
  readonly quantities: readonly (number | undefined)[] | undefined;
  readonly #columns: readonly Column[];

  constructor(object: KubernetesObject, columns: readonly Column[]) {
    const { name, namespace = '', uid, resourceVersion, creationTimestamp, labels = {} } = object.metadata;
    this.namespace = shared(namespace);
    this.shownName = name;
    this.uid = uid;
    this.resourceVersion = resourceVersion;
    this.creationTimestamp = creationTimestamp;
    this.labels = sharedLabelsOf(labels);
    this.owner = shared(ownerOf(object));
    this.values = columns.map((column) => sharedValue(column.read(object)));
    this.quantities = quantitiesIn(this.values);
    this.#columns = columns;
  }

  /** Key of the row, unique in the list. */
  get name(): string {
    return this.namespace === '' ? this.shownName : `${this.namespace}/${this.shownName}`;
  }

  get text(): string {
    const { namespace, shownName: name, uid, resourceVersion, creationTimestamp, labels, owner } = this;
    return JSON.stringify({
      metadata: { name, ...(namespace !== '' && { namespace }), uid, resourceVersion, creationTimestamp, labels },
      ...(owner !== '' && { owner }),
      values: Object.fromEntries(this.#columns.map(({ name: column }, index) => [column, exactValue('', this.values[index] ?? null)])),
    });
  }
}

/** Bound of the shared texts, and of the shared labels. The rows have no bound. */
const sharedBytes = 8 * 1024 * 1024;
const sharedTexts = new SharedValues<string>(sharedBytes);
const sharedLabels = new SharedValues<Readonly<Record<string, string>>>(sharedBytes);

const shared = (text: string): string => sharedTexts.of(text, text);

const sharedValue = (value: Value): Value => (typeof value === 'string' ? shared(value) : value);

const sharedLabelsOf = (labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  sharedLabels.of(JSON.stringify(labels), labels);

function ownerOf({ metadata: { ownerReferences } }: KubernetesObject): string {
  const references: unknown[] = Array.isArray(ownerReferences) ? ownerReferences : [];
  for (const reference of references) {
    if (typeof reference !== 'object' || reference === null || !('controller' in reference) || reference.controller !== true) continue;
    if ('kind' in reference && 'name' in reference) return `${reference.kind}/${reference.name}`;
  }
  return '';
}

export const defaultSort = 'a,namespace,a,name';

/** Returns the properties by which rows with these columns are selected, filtered and sorted. */
export function rowProperties(columns: readonly Column[]): ListProperties<ResourceRow> {
  const indexed = columns.map((column, index) => ({ column, index, read: (row: ResourceRow): Value => row.values[index] ?? null }));
  const isSearched = ({ type, isWhole }: Column) => type === 'string' && isWhole === undefined;
  const searched = indexed.filter(({ column }) => isSearched(column));
  const compared = indexed.filter(({ column }) => !isSearched(column));
  return {
    searched: new Map<string, (row: ResourceRow) => string>([
      ['name', ({ shownName }) => folded(shownName)],
      ...searched.map(({ column, read }) => [column.name, (row: ResourceRow) => folded(String(read(row) ?? ''))] as const),
    ]),
    search: ['name', ...searched.map(({ column }) => column.name)],
    compared: new Map<string, (row: ResourceRow) => string>([
      ['namespace', ({ namespace }) => namespace],
      ['owner', ({ owner }) => owner],
      ['uid', ({ uid }) => uid],
      ['creationTimestamp', ({ creationTimestamp }) => creationTimestamp],
      ...compared.map(({ column, read }) => [column.name, (row: ResourceRow) => String(read(row) ?? '')] as const),
    ]),
    sorted: new Map<string, (row: ResourceRow) => SortValue>([
      ['name', ({ shownName }) => shownName],
      ['namespace', ({ namespace }) => namespace],
      ['uid', ({ uid }) => uid],
      ['creationTimestamp', ({ creationTimestamp }) => creationTimestamp],
      ['owner', ({ owner }) => owner || undefined],
      ...indexed.map(
        ({ column, read, index }) => [column.name, (row: ResourceRow) => orderOf(column, read(row), row.quantities?.[index])] as const,
      ),
    ]),
    selectable: new Map<string, (row: ResourceRow) => string>([
      ['metadata.name', ({ shownName }) => shownName],
      ['metadata.namespace', ({ namespace }) => namespace],
    ]),
    defaultSort,
  };
}

function quantitiesIn(values: readonly Value[]): readonly (number | undefined)[] | undefined {
  const found = values.map((value) => (typeof value === 'string' ? quantityOf(value) : undefined));
  return found.some((quantity) => quantity !== undefined) ? found : undefined;
}

function orderOf({ type }: Column, value: Value, quantity: number | undefined): SortValue {
  if (value === null || value === '') return undefined;
  if (type === 'date') return Date.parse(String(value));
  if (typeof value === 'boolean' || typeof value === 'bigint') return Number(value);
  return quantity ?? value;
}
