import { AskFor } from '../../app/ask';
import { t } from '../../text/text';

/** Tells a caller who may not list audits that only their own events are shown, and leads to the request for the right. */
export const OwnOnly = ({ namespace }: { namespace: string | undefined }) => (
  <p class="muted">
    {t('activity.own')} <AskFor right={{ verb: 'list', group: 'auth.platform.io', resource: 'audits', ...(namespace && { namespace }) }} />
  </p>
);
