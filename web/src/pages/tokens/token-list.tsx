import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch, useLoad } from '../../api/load';
import { dateOnly, relative, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty } from '../../ui/state';
import { toast } from '../../ui/toast';

type Token = Schemas['AccessToken'];

export function TokenList({ user, mayRevoke }: { user: string; mayRevoke: boolean }) {
  const ending = useSignal<Token | undefined>(undefined);
  const load = useLoad(`tokens/${user}`, (signal) =>
    bodyOf(api.GET('/auth/v1/accesstokens', { params: { query: { limit: 200, user } }, signal })),
  );
  async function revoke({ metadata }: Token): Promise<void> {
    await api.DELETE('/auth/v1/accesstokens/{id}', { params: { path: { id: metadata.name } } });
    await refetch('tokens/');
    toast('ok', t('tokens.revoked'));
    ending.value = undefined;
  }
  return (
    <>
      <Loaded load={load}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t('tokens.none')} />
          ) : (
            <PlainTable
              label={t('tokens.title')}
              rows={items}
              idOf={({ metadata }) => metadata.name}
              columns={[
                { title: t('tokens.description'), cell: ({ spec }: Token) => <span class="strong">{spec.description}</span> },
                { title: t('tokens.id'), cell: ({ metadata }) => <code>{metadata.name}</code> },
                {
                  title: t('tokens.used'),
                  cell: ({ status }) =>
                    status?.lastUsedTime ? relative(status.lastUsedTime) : <span class="muted">{t('users.never')}</span>,
                },
                { title: t('tokens.expires'), cell: ({ spec }) => (spec.expiration ? dateOnly(spec.expiration) : t('tokens.never')) },
                {
                  title: '',
                  cell: (token) =>
                    mayRevoke && (
                      <Button
                        kind="quiet"
                        onClick={() => {
                          ending.value = token;
                        }}
                      >
                        {t('tokens.revoke')}
                      </Button>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {ending.value && (
        <Confirm
          title={t('tokens.revokeOf', { name: ending.value.spec.description })}
          onClose={() => {
            ending.value = undefined;
          }}
          onConfirm={() => (ending.value ? revoke(ending.value) : Promise.resolve())}
        >
          <p>{t('tokens.revokeWhat')}</p>
        </Confirm>
      )}
    </>
  );
}
