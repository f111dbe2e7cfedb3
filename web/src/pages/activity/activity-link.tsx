import { useFeature } from '../../api/version';
import { viewed } from '../../api/view';
import { href } from '../../app/router';
import type { conditionNames } from './question';

/** Conditions in the address of the page. */
type Conditions = Partial<Record<(typeof conditionNames)[number], string | undefined>>;

interface ActivityLinkProps {
  of: Conditions;
  children: string;
}

/** Returns the address of the events that meet conditions. */
export function activityHref(of: Conditions): string {
  const given = Object.entries(of).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return href(`/activity?${new URLSearchParams(given)}`);
}

/** Link to the events that meet conditions. Shows nothing while the service keeps no events, and in a view. */
export function ActivityLink({ of, children }: ActivityLinkProps) {
  if (!useFeature('audit') || viewed.value !== undefined) return null;
  return <a href={activityHref(of)}>{children}</a>;
}
