import { apiPath } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import { getJson } from '../../../api/objects';
import { usePoll } from '../../../api/poll';
import { may, type Right, useRights } from '../../../app/rights';
import { Ago } from '../../../ui/age';
import { Notice } from '../../../ui/state';
import { type EventGroup, groupsOf } from '../events/event-groups';
import type { EventList } from '../events/events';
import { findKind } from './find-kind';
import type { Section, SectionProps } from './section';

const shownGroups = 3;
/** Older warnings may be over. Controllers repeat a failure within a quarter of an hour. */
const recentMs = 15 * 60_000;

const isRecent = ({ last }: EventGroup): boolean => Date.now() - Date.parse(last) < recentMs;

/** Recent Warning events of the object. Callers who may not list events learn so on their tab. */
function Warnings({ kinds, object: { metadata } }: SectionProps) {
  const { namespace = 'default', uid = '' } = metadata;
  const list: Right = { verb: 'list', group: '', resource: 'events', namespace };
  useRights([list]);
  const kind = findKind(kinds, 'events');
  const path = kind && may(list) === true ? apiPath(kind, { namespace }) : undefined;
  const fieldSelector = `involvedObject.uid=${uid},type=Warning`;
  const load = useLoad(path && `warnings/${path}/${uid}`, (signal) =>
    getJson<EventList>(`${path}?${new URLSearchParams({ fieldSelector, limit: '100' })}`, signal),
  );
  // A watch would hold one of the few connections of the browser.
  usePoll(path ? load : undefined);
  return (
    <>
      {groupsOf(load.data.value?.items ?? [])
        .filter(isRecent)
        .slice(0, shownGroups)
        .map(({ id, reason, message, times, last }) => (
          <Notice key={id} kind="warn">
            <strong>{reason}</strong>{' '}
            <span class="muted">
              {times > 1 && `${times} × · `}
              <Ago since={last} />
            </span>
            <p>{message}</p>
          </Notice>
        ))}
    </>
  );
}

export const warnings: Section = { View: Warnings };
