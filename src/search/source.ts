import type { Caller } from '../http/operation.ts';
import type { ResourceType } from '../kubernetes/resource.ts';
import type { RowTexts } from './match.ts';

/** Members of a row that an answer shows beside its match. */
interface ShownRow {
  name: string;
  namespace?: string;
  uid: string;
  /** The display name of a user or group. */
  title?: string;
  /** The e-mail address of a user, the state of another object. */
  detail?: string;
}

/** The rows of one kind that a caller may list. */
export interface Visible<Row> {
  readonly rows: Iterable<Row>;
  /** Undefined if the caller may list all of them. */
  readonly fits: ((row: Row) => boolean) | undefined;
  readonly texts: RowTexts<Row>;
  /** Orders rows that fit equally well. */
  compare(left: Row, right: Row): number;
  shown(row: Row): ShownRow;
}

/** Gets the rows, whatever their type is. */
type Visitor<Result> = <Row>(visible: Visible<Row>) => Result;

/** A kind of objects that can be searched. */
export interface SearchSource {
  readonly type: ResourceType;
  /**
   * Checks the caller's rights, and returns a function that gives the rows to a visitor.
   *
   * @returns undefined if objects of this kind are in no namespace, and one is asked for
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
