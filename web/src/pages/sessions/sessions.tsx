import { ListPage } from '../../app/list-page';
import { t } from '../../text/text';
import { useSessions } from './session-list';

export function Page() {
  const { list, dialog } = useSessions({ mayEnd: true });
  return (
    <ListPage list={list} about={t('sessions.what')}>
      {dialog}
    </ListPage>
  );
}
