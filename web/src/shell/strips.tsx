/** Strips below the header that few users see, loaded when there is one. */
import { useLoad } from '../api/load';
import { hasAuditAlert } from '../app/audit-alert';
import { path } from '../app/router';
import { loadTexts } from '../text/text';
import { OwnAccess } from './own-access';

export const Strips = () => (
  <>
    <AuditAlert />
    <OwnAccess />
  </>
);

/** The page Activity has a notice of its own. */
function AuditAlert() {
  const isShown = hasAuditAlert.value && path.value !== '/activity';
  const load = useLoad(
    isShown ? 'audit strip' : undefined,
    async () => (await Promise.all([import('../pages/activity/audit-state'), loadTexts('activity')]))[0],
  );
  const Strip = isShown && load.data.value?.AuditStrip;
  return Strip ? <Strip /> : null;
}
