import { useFeature } from '../../api/version';
import { viewed } from '../../api/view';
import { href } from '../../app/router';
import type { conditionNames } from './question';

interface ActivityLinkProps {
  /** Conditions in the address of the page. */
  of: Partial<Record<(typeof conditionNames)[number], string | undefined>>;
  children: string;
}

/** Link to the events that meet conditions. Shows nothing while the service keeps no events, and in a view. */
export function ActivityLink({ of, children }: ActivityLinkProps) {
  if (!useFeature('audit') || viewed.value !== undefined) return null;
  const given = Object.entries(of).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return <a href={href(`/activity?${new URLSearchParams(given)}`)}>{children}</a>;
}
