/** Kinds that are searched: users, groups, and the resources of `lists.resources`. */
import type { Caller } from '@atrium/http/caller.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import type { Collection } from '@atrium/lists/collection.ts';
import type { ListRow } from '@atrium/lists/properties.ts';
import { folded } from '@atrium/objects/folded.ts';
import type { GroupRow } from '../groups/row.ts';
import type { ResourceRow } from '../listed-resources/row.ts';
import type { ListsService, VisibleRows } from '../listed-resources/service.ts';
import type { Services } from '../services.ts';
import { groupResource } from '../users/record/local-groups.ts';
import { userResource } from '../users/record/schema.ts';
import type { UserRow } from '../users/row.ts';
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

type Access = Pick<Services, 'access'>;
type View<Row extends ListRow> = Pick<Visible<Row>, 'texts' | 'compare' | 'shown'>;

const compareTexts = (left: string, right: string): number => (left < right ? -1 : Number(left !== right));

export const userSource = (services: Access, users: Collection<UserRow>): SearchSource =>
  recordSource(services, userResource, users, {
    texts: {
      names: [({ lowerUsername }) => lowerUsername, ({ lowerEmail }) => lowerEmail, ({ lowerAccount }) => lowerAccount, ({ name }) => name],
      labels: ({ labels }) => labels,
      images: () => '',
    },
    compare: (left, right) => compareTexts(left.name, right.name),
    shown: ({ name, username, email, account: { uid } }) => ({ name, uid, title: username || email, detail: email }),
  });

export const groupSource = (services: Access, groups: Collection<GroupRow>): SearchSource =>
  recordSource(services, groupResource, groups, {
    texts: {
      names: [({ name }) => folded(name), ({ lowerDisplayName }) => lowerDisplayName],
      labels: ({ labels }) => labels,
      images: () => '',
    },
    compare: (left, right) => compareTexts(left.name, right.name),
    shown: ({ name, displayName, uid }) => ({ name, uid, ...(displayName !== '' && { title: displayName }) }),
  });

/** Returns a source of records of the service. They have no namespace, and need the permission to list them in the cluster. */
function recordSource<Row extends ListRow>(
  { access }: Access,
  type: ResourceType,
  { rows }: Collection<Row>,
  view: View<Row>,
): SearchSource {
  const right = Object.freeze({ ...type, verb: 'list' });
  return {
    type,
    async open({ namespace, caller, signal }) {
      if (namespace !== undefined) return undefined;
      await access.require(caller, right, signal);
      return opened({ rows: await rows(signal), fits: undefined, ...view });
    },
  };
}

/** Returns sources for the resources of `lists.resources` that have no source of their own. */
export const listSources = (lists: ListsService, own: readonly SearchSource[]): SearchSource[] =>
  lists.resources
    .filter((type) => !own.some((source) => source.type.group === type.group && source.type.resource === type.resource))
    .map((type) =>
      rowSource(type, ({ namespace, caller, signal }) =>
        lists.visible({ ...type, ...(namespace !== undefined && { namespace }) }, caller, signal),
      ),
    );

/** A kind that is not searched, because the configuration does not list it. */
export interface DisabledKind {
  readonly type: ResourceType;
  readonly isNamespaced: boolean;
  /** Setting that lists the kind. */
  readonly setting: string;
}

const ofCluster = ['nodes', 'namespaces'];

/** Returns groups and the kinds of the preset `workloads`, as far as no source has them. */
export const disabledKinds = (workloads: readonly ResourceType[], sources: readonly SearchSource[]): DisabledKind[] =>
  [
    { type: groupResource, isNamespaced: false, setting: 'features.groups: true' },
    ...workloads.map(({ group, version, resource }) => ({
      type: { group, version, resource },
      isNamespaced: !ofCluster.includes(resource),
      setting: 'lists.preset: workloads',
    })),
  ].filter(({ type }) => !sources.some((source) => source.type.group === type.group && source.type.resource === type.resource));

export const rowSource = (
  type: ResourceType,
  visibleRows: (asked: Parameters<SearchSource['open']>[0]) => Promise<VisibleRows | undefined>,
): SearchSource => ({
  type,
  async open(asked) {
    const visible = await visibleRows(asked);
    return visible && opened({ ...visible, ...rowView(visible) });
  },
});

const rowView = ({ read }: VisibleRows): View<ResourceRow> => {
  const images = read('images');
  const state = read('status', 'phase');
  return {
    // The getter `name` of a row concatenates a text at each call.
    compare: (left, right) => compareTexts(left.namespace, right.namespace) || compareTexts(left.shownName, right.shownName),
    texts: { names: [({ shownName }) => folded(shownName)], labels: ({ labels }) => labels, images },
    shown(row) {
      const { shownName: name, namespace, uid } = row;
      const detail = state(row);
      return { name, uid, ...(namespace !== '' && { namespace }), ...(detail !== '' && { detail }) };
    },
  };
};
