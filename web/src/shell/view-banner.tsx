import { useSignalEffect } from '@preact/signals';
import { Eye, X } from 'lucide';
import { stopView, type View, viewed } from '../api/view';
import { t, timeOf } from '../text/text';
import { Button } from '../ui/button';
import { Icon } from '../ui/icon';

/** Longest wait between two looks at the clock: timers stop while a machine sleeps. */
const lookMs = 5_000;

/** Shows as whom this tab views the cluster, and ends the view in time. */
export function ViewBanner() {
  useSignalEffect(() => {
    const view = viewed.value;
    if (view === undefined) return;
    const timer = setInterval(() => {
      if (Date.now() >= view.until) stopView();
    }, lookMs);
    return () => clearInterval(timer);
  });
  return viewed.value === undefined ? null : <Shown view={viewed.value} />;
}

/** Number of groups that the banner names, so that it stays small on a phone. */
const namedGroups = 4;

function shortened(groups: readonly string[]): string {
  const more = groups.length - namedGroups;
  return [...groups.slice(0, namedGroups), ...(more > 0 ? [`+${more}`] : [])].join(', ');
}

function Shown({ view: { user, groups, until } }: { view: View }) {
  return (
    <aside class="view-banner" aria-label={t('view.title')}>
      <Icon of={Eye} />
      <p>
        <strong>{t('view.banner', { user })}</strong>
        {groups.length > 0 && <span title={groups.join(', ')}> {t('view.inGroups', { groups: shortened(groups) })}</span>}
        <span class="muted"> · {t('view.until', { time: timeOf(new Date(until)) })}</span>
      </p>
      <Button icon={X} onClick={stopView}>
        {t('view.stop')}
      </Button>
    </aside>
  );
}
