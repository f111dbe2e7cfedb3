import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { useFeatures } from '../../api/version';
import { may, type Right } from '../../app/rights';
import { count, t } from '../../text/text';
import { Confirm } from '../../ui/confirm';
import { Facts } from '../../ui/facts';

const listSessions: Right = { verb: 'list', resource: 'sessions' };
const listTokens: Right = { verb: 'list', resource: 'accesstokens' };

interface DisableProps {
  user: Schemas['User'];
  onClose: () => void;
  onConfirm: () => Promise<void>;
}

/** Asks for confirmation before a user is disabled, and counts the sessions and tokens that end, as far as the caller may list them. */
export function DisableUser({ user, onClose, onConfirm }: DisableProps) {
  const { name } = user.metadata;
  const isOn = useFeatures();
  const params = { params: { query: { user: name, limit: 1 } } };
  const sessions = useLoad(may(listSessions) ? `sessions/count/${name}` : undefined, (signal) =>
    bodyOf(api.GET('/auth/v1/sessions', { ...params, signal })),
  );
  const tokens = useLoad(may(listTokens) ? `tokens/count/${name}` : undefined, (signal) =>
    bodyOf(api.GET('/auth/v1/accesstokens', { ...params, signal })),
  );
  const total = (list: { total: number } | undefined) => (list ? count(list.total) : t('user.notCounted'));
  return (
    <Confirm title={t('user.disableOf', { name: user.spec.username || user.spec.email })} onClose={onClose} onConfirm={onConfirm}>
      <p>{t('user.disableEnds')}</p>
      <Facts
        of={[
          [t('sessions.title'), isOn('sessions') && total(sessions.data.value)],
          [t('tokens.title'), isOn('accessTokens') && total(tokens.data.value)],
        ]}
      />
    </Confirm>
  );
}
