/** Plugins, and news for the user, which no page waits for. Loaded with the parts of pages, and begun once the page is rendered. */
import { effect } from '@preact/signals';
import { untilDone } from '../api/outage';
import { AskFor } from '../app/ask';
import { followAuditAlert, hasAuditAlert } from '../app/audit-alert';
import { inbox, isActive, isUnreviewed, ownRequests } from '../app/own-requests';
import { strips } from '../app/strips';
import { loadTexts } from '../text/text';
import { refusalSteps } from '../ui/state';

/** @returns a function that ends it, for logout */
export async function startLater(): Promise<() => void> {
  refusalSteps.value = AskFor;
  const { startPlugins } = await untilDone(() => import('../plugins/start'));
  const ends = [startPlugins(), followAuditAlert(), showStrips()];
  return () => {
    for (const end of ends) end();
  };
}

/** Loads the strips below the header once there is one. Most users have none. */
function showStrips(): () => void {
  let isOver = false;
  const load = async () => {
    const [{ Strips }] = await untilDone(() => Promise.all([import('./strips'), loadTexts('overlays')]));
    if (!isOver) strips.value = Strips;
  };
  const stop = effect(() => {
    const isWorthAStrip =
      hasAuditAlert.value || ownRequests.value.some(isActive) || [...ownRequests.value, ...inbox.value].some(isUnreviewed);
    if (isWorthAStrip) void load();
  });
  return () => {
    isOver = true;
    stop();
    strips.value = undefined;
  };
}
