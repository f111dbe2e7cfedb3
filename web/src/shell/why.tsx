import { AskFor } from '../app/ask';
import { isRefusedByView } from '../app/rights';
import { explained, Needed, useExplanation } from '../app/why';
import { t } from '../text/text';
import { Dialog, LastLine } from '../ui/dialog';
import { ProblemNotice, Skeleton } from '../ui/state';

/** Dialog with the reason for which an action is greyed. */
export function Why({ onClose }: { onClose: () => void }) {
  const right = explained.value;
  const load = useExplanation(right);
  if (right === undefined) return null;
  const status = load.data.value;
  const roles = status?.explanation && 'roles' in status.explanation ? status.explanation.roles.map(({ name }) => name) : [];
  return (
    <Dialog title={t('why.title')} onClose={onClose}>
      <p>
        <Needed right={right} />
      </p>
      {isRefusedByView(right) ? null : status === undefined ? (
        ((load.error.value && <ProblemNotice of={load.error.value} />) ?? <Skeleton rows={1} />)
      ) : (
        <p class="muted">{roles.length > 0 ? t('rights.roles', { roles: roles.join(', ') }) : status.reason || t('rights.noRole')}</p>
      )}
      <LastLine onClose={onClose}>
        <AskFor right={right} onOpen={onClose} />
      </LastLine>
    </Dialog>
  );
}
