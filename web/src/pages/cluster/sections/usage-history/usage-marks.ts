/** Marks on the time line of the charts: events, and the starts and ends of containers. */
import { useLoad } from '../../../../api/load';
import { type ClusterObject, getList } from '../../../../api/objects';
import { usePoll } from '../../../../api/poll';
import { may, type Right, useRights } from '../../../../app/rights';
import type { ChartMark } from '../../../../editors/chart';
import { byTime, type ClusterEvent, lastOf, timesOf } from '../../events/event-times';

export interface UsageMark extends ChartMark {
  /** Kind and name of the object. */
  object: string;
  text: string;
}

export interface EventsOf {
  /** Events of a Node are in the namespace `default`. */
  namespace: string;
  /** Unset: all events of the namespace. */
  fieldSelector?: string;
  fits?: (event: ClusterEvent) => boolean;
}

export interface EventMarks {
  right: Right;
  marks: readonly UsageMark[];
}

const everyMs = 60_000;
/** Marks that can be told apart on a time line. */
const maxMarks = 100;

/** Reads events again and again. */
export function useEventMarks({ namespace, fieldSelector = '', fits = () => true }: EventsOf): EventMarks {
  const right: Right = { verb: 'list', group: '', resource: 'events', namespace };
  useRights([right]);
  const path = `api/kubernetes/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
  const isAllowed = may(right) === true;
  const load = useLoad(isAllowed ? `usage-marks/${path}/${fieldSelector}` : undefined, (signal) =>
    getList<ClusterEvent>(path, fieldSelector === '' ? {} : { fieldSelector }, signal),
  );
  usePoll(isAllowed ? load : undefined, everyMs);
  const events = load.data.value?.items.filter(fits).toSorted(byTime).slice(0, maxMarks) ?? [];
  return { right, marks: events.map(markOf) };
}

function markOf(event: ClusterEvent): UsageMark {
  const { type, reason = '', message = '', involvedObject: { kind = '', name = '' } = {} } = event;
  const times = timesOf(event);
  return {
    time: Date.parse(lastOf(event)) / 1000,
    kind: type === 'Warning' ? 'warning' : 'event',
    object: `${kind} ${name}`,
    text: `${reason}${times > 1 ? ` (${times})` : ''}: ${message}`,
  };
}

interface Status {
  name: string;
  state?: { running?: { startedAt?: string } };
  lastState?: { terminated?: { finishedAt?: string; reason?: string } };
}

/** Returns the starts and last ends of the containers of a pod that were restarted. */
export function restartsOf({ metadata, status = {} }: Pick<ClusterObject, 'metadata' | 'status'>): UsageMark[] {
  const statuses = (status.containerStatuses ?? []) as readonly Status[];
  const object = `Pod ${metadata.name}`;
  return statuses.flatMap(({ name, state, lastState }) => {
    const [startedAt, ended] = [state?.running?.startedAt, lastState?.terminated];
    const marks: (UsageMark | undefined)[] = [
      ended?.finishedAt
        ? { time: Date.parse(ended.finishedAt) / 1000, kind: 'end', object, text: `${name}: ${ended.reason ?? 'Terminated'}` }
        : undefined,
      startedAt && ended ? { time: Date.parse(startedAt) / 1000, kind: 'event', object, text: `${name}: Started` } : undefined,
    ];
    return marks.filter((mark) => mark !== undefined);
  });
}
