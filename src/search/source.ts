import type { Caller } from '../http/operation.ts';
import type { ResourceType } from '../kubernetes/resource.ts';
import type { RowTexts } from './match.ts';

/** Members of a row that an answer shows next to its match. */
interface ShownRow {
  name: string;
  namespace?: string;
  uid: string;
  /** Display name of a user or group. */
  title?: string;
  /** E-mail address of a user, or state of another object. */
  detail?: string;
}

/** Rows of one kind that a caller may list. */
export interface Visible<Row> {
  readonly rows: Iterable<Row>;
  /** Undefined if the caller may list all of them. */
  readonly fits: ((row: Row) => boolean) | undefined;
  readonly texts: RowTexts<Row>;
  /** Orders rows that match equally well. */
  compare(left: Row, right: Row): number;
  shown(row: Row): ShownRow;
}

/** Receives the rows, for any type of row. */
type Visitor<Result> = <Row>(visible: Visible<Row>) => Result;

/** A kind that can be searched. */
export interface SearchSource {
  readonly type: ResourceType;
  /**
   * Checks the permissions of the caller, and returns a function that passes the rows to a visitor.
   *
   * @returns undefined if the kind has no namespaces, and a namespace is given
   * @throws StatusError 403, 404, 429, 503, 504
   */
  open(asked: { namespace: string | undefined; caller: Caller; signal: AbortSignal }): Promise<Opened | undefined>;
}

export type Opened = <Result>(visitor: Visitor<Result>) => Result;

/** Hides the type of the rows. */
export const opened =
  <Row>(visible: Visible<Row>): Opened =>
  (visitor) =>
    visitor(visible);
