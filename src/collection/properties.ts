/** What is kept of an object so that it can be listed: made once per change of the object. */
export interface ListRow {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The JSON text of the object as it is served. */
  readonly text: string;
}

/** By what the objects of a resource are selected, filtered and sorted: names of the contract, and where a row has the value. */
export interface ListProperties<Row> {
  /** For `filterBy`: searched for a literal part, in any case. The texts are in lower case. */
  readonly searched: ReadonlyMap<string, (row: Row) => string | readonly string[]>;
  /** Those of them in which `search` looks. */
  readonly search: readonly string[];
  /** For `filterBy`: compared whole. */
  readonly compared: ReadonlyMap<string, (row: Row) => string>;
  /** For `sortBy`. */
  readonly sorted: ReadonlyMap<string, (row: Row) => SortValue>;
  /** For `fieldSelector`: `metadata.name` and the selectable fields of the custom resource definition. */
  readonly selectable: ReadonlyMap<string, (row: Row) => string>;
  /** As in `sortBy`: `a,username`. */
  readonly defaultSort: string;
}

export type SortValue = string | number | undefined;

/** Whether a list holds a row. */
export type Predicate<Row> = (row: Row) => boolean;
