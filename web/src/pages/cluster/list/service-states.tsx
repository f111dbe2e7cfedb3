/** States of Services: the endpoints behind them, which no column of the Service has. */
import { type ObjectState, serviceState } from '@atrium/objects/object-state.ts';
import { apiPath, type Kind, kindId } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import { type ClusterObject, getList } from '../../../api/objects';
import { usePoll } from '../../../api/poll';
import { may, type Right, useRights } from '../../../app/rights';
import { t } from '../../../text/text';
import type { Column } from '../../../ui/table';
import { StateView } from '../cells';
import { findKind } from '../sections/find-kind';
import { endpointCounts } from '../sections/network/endpoints';

const everyMs = 15_000;

type Counts = ReturnType<typeof endpointCounts>;

interface Place {
  kinds: readonly Kind[];
  kind: Kind;
  namespace: string | undefined;
}

/** Reads the endpoints of Services. Undefined for other kinds, and where they cannot be read whole: an unread one is not a missing one. */
export function useEndpointCounts({ kinds, kind, namespace }: Place): Counts | undefined {
  const slices = kindId(kind) === 'services' ? findKind(kinds, 'endpointslices.discovery.k8s.io') : undefined;
  const right: Right = { verb: 'list', group: 'discovery.k8s.io', resource: 'endpointslices', ...(namespace && { namespace }) };
  useRights(slices ? [right] : []);
  const path = slices && may(right) === true ? apiPath(slices, { namespace }) : undefined;
  const load = useLoad(path && `endpoints/${path}`, (signal) => getList<ClusterObject>(path ?? '', {}, signal));
  usePoll(path ? load : undefined, everyMs);
  const list = load.error.value ? undefined : load.data.value;
  return list === undefined || list.metadata.continue ? undefined : endpointCounts(list.items);
}

interface Listed {
  metadata: { name: string; namespace?: string };
}

/** Returns the column of the states. @param read the type, the selector and the outer addresses of a row, as far as they are known */
export const serviceColumn = <T extends Listed>(counts: Counts | undefined, read: (row: T) => ServiceTexts): Column<T>[] =>
  counts === undefined
    ? []
    : [
        {
          ...{ id: 'phase', title: t('cluster.state'), isMinor: false },
          cell: (row) => <StateWithFigure of={serviceState(asService(read(row)), countsOf(counts, row))} />,
        },
      ];

const countsOf = (counts: Counts, { metadata: { namespace = '', name } }: Listed) =>
  counts.get(`${namespace}/${name}`) ?? { ready: 0, all: 0 };

const StateWithFigure = ({ of }: { of: ObjectState }) => <StateView of={{ ...of, reason: of.figure }} />;

interface ServiceTexts {
  type: string;
  hasSelector: boolean;
  hasAddress: boolean;
}

const asService = ({ type, hasSelector, hasAddress }: ServiceTexts) => ({
  spec: { type, ...(hasSelector && { selector: {} }) },
  status: { loadBalancer: { ingress: hasAddress ? [{}] : [] } },
});
