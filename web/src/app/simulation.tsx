/** Way from the form of a change to its simulation. */
import { ScanSearch } from 'lucide';
import { useFeature } from '../api/version';
import { t } from '../text/text';
import { LinkButton } from '../ui/button';
import { may, useRights } from './rights';
import { WhyButton } from './why';

export const simulateRight = { verb: 'create', group: 'auth.platform.io', resource: 'simulations' };

/** Fields of the form: a new binding, or a new member of a group. */
type Change =
  | { type: 'userBinding'; kind: 'user' | 'group'; subject: string; role: string; scope: string; namespaces: readonly string[] }
  | { type: 'member'; group: string };

function pageOfSimulation(change: Change): string {
  const { namespaces = [], ...fields } = { namespaces: undefined, ...change };
  return `/explorer/simulate?${new URLSearchParams([...Object.entries(fields), ...namespaces.map((namespace) => ['in', namespace])])}`;
}

/** Link to the simulation of a change, absent where the explorer is disabled. Without the right, shows the reason in its place. */
export function SimulateLink({ of }: { of: Change }) {
  useRights([simulateRight]);
  const isAllowed = may(simulateRight);
  if (!useFeature('explorer') || isAllowed === undefined) return null;
  if (!isAllowed) return <WhyButton right={simulateRight}>{t('explorer.simulate')}</WhyButton>;
  return (
    <LinkButton icon={ScanSearch} to={pageOfSimulation(of)}>
      {t('explorer.simulate')}
    </LinkButton>
  );
}
