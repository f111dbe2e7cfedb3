import { signal } from '@preact/signals';
import { api, bodyOf } from '../api/client';
import { path } from './router';
import { person } from './session';

/** True while the audit needs the attention of the user. */
export const hasAuditAlert = signal(false);

/** Least time between two questions. */
const pauseMs = 60_000;

/**
 * Follows whether the audit needs the attention of the user. The answer at the start tells it, and further ones when the user opens another
 * page or returns to the window, at most once a minute: an interval would keep an idle session alive. The answer to a login does not tell it.
 *
 * @returns a function that ends it
 */
export function followAuditAlert(): () => void {
  const { audit_alert: isTold, return_to: loggedInFor } = person.peek()?.ext ?? {};
  const stop = new AbortController();
  let askedAt = loggedInFor === undefined ? Date.now() : 0;
  const look = async (): Promise<void> => {
    if (Date.now() - askedAt < pauseMs) return;
    askedAt = Date.now();
    const { ext } = await bodyOf(api.GET('/api/v2/token/info', { signal: stop.signal }));
    hasAuditAlert.value = ext.audit_alert === true;
  };
  const lookAgain = () => void look().catch(() => undefined);
  hasAuditAlert.value = isTold === true;
  const endPages = path.subscribe(lookAgain);
  addEventListener('focus', lookAgain, { signal: stop.signal });
  return () => {
    endPages();
    stop.abort();
    hasAuditAlert.value = false;
  };
}
