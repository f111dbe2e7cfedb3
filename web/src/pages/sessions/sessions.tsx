import { GitPullRequestArrow } from 'lucide';
import { useFeature } from '../../api/version';
import { ListPage } from '../../app/list-page';
import { t } from '../../text/text';
import { useSessions } from './session-list';

export function Page() {
  const { list, dialog } = useSessions({ mayEnd: true });
  const proposals = { rights: [], label: t('proposals.title'), icon: GitPullRequestArrow, to: '/proposals' };
  return (
    <ListPage list={list} about={t('sessions.what')} offers={useFeature('mcp') ? [proposals] : []}>
      {dialog}
    </ListPage>
  );
}
