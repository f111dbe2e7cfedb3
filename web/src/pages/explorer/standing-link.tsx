import { useFeature } from '../../api/version';
import { viewed } from '../../api/view';
import { may, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { t } from '../../text/text';

interface StandingLinkProps {
  /** Namespace of a RoleBinding, undefined for bindings of all places. */
  namespace?: string | undefined;
  /** Name of a binding or UserBinding. */
  name?: string;
  /** Name of a role. */
  role?: string;
}

/** Link to the standing access that a binding or role gives, for callers who may see it. Shows nothing in a view. */
export function StandingLink({ namespace, ...of }: StandingLinkProps) {
  const place = namespace === undefined ? {} : { namespace };
  const rights = [
    { verb: 'list', group: 'rbac.authorization.k8s.io', resource: 'rolebindings', ...place },
    { verb: 'list', resource: 'audits', ...place },
  ];
  const isOffered = useFeature('explorer') && viewed.value === undefined;
  useRights(isOffered ? rights : []);
  if (!isOffered || !rights.every((right) => may(right) === true)) return null;
  return <a href={href(`/explorer/standing?${new URLSearchParams({ ...place, ...of })}`)}>{t('explorer.tab.standing')}</a>;
}
