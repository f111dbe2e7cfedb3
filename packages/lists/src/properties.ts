/** A row of a list: the kept members of an object, made once per change of the object. */
export interface ListRow {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** JSON text of the object as it is served. */
  readonly text: string;
}

/**
 * Properties by which the objects of a resource are selected, filtered and sorted: their names in the contract, and readers of their
 * values.
 */
export interface ListProperties<Row> {
  /** Properties of `filterBy` that are searched for a literal part, ignoring case. Their texts are folded. */
  readonly searched: ReadonlyMap<string, (row: Row) => string | readonly string[]>;
  /** Names of the searched properties that `search` reads. */
  readonly search: readonly string[];
  /** Properties of `filterBy` that are compared as a whole. */
  readonly compared: ReadonlyMap<string, (row: Row) => string>;
  /** Properties of `sortBy`. */
  readonly sorted: ReadonlyMap<string, (row: Row) => SortValue>;
  /** Fields of `fieldSelector`: `metadata.name` and the selectable fields of the custom resource definition. */
  readonly selectable: ReadonlyMap<string, (row: Row) => string>;
  /** Default of `sortBy`: `a,username`. */
  readonly defaultSort: string;
}

export type SortValue = string | number | undefined;

/** Reports whether a list contains a row. */
export type Predicate<Row> = (row: Row) => boolean;

/** Returns the names of the properties of `filterBy`. */
export const filterNames = ({ searched, compared }: Pick<ListProperties<never>, 'searched' | 'compared'>): string[] => [
  ...searched.keys(),
  ...compared.keys(),
];
