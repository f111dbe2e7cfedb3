import { useSignal } from '@preact/signals';
import { Link2 } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch, useLoad } from '../../api/load';
import { asProblem } from '../../api/problem';
import { goTo } from '../../app/session';
import { dateTime, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty } from '../../ui/state';
import { toast } from '../../ui/toast';

type Account = Schemas['LinkedAccount'];

const key = 'linked-accounts';

/** Shows the accounts of issuers with which the user can log in. Further ones are linked at their issuer's page, and removed here. */
export function Accounts() {
  const load = useLoad(key, (signal) => bodyOf(api.GET('/auth/v1/links', { signal })));
  // The operation does not exist if linking is switched off.
  if (load.error.value?.isUnknownPath) return <Empty text={t('accounts.switchedOff')} />;
  return (
    <Loaded load={load}>
      {({ items, linkable }) => (
        <>
          <p class="muted measure">{t('accounts.what')}</p>
          <AccountTable items={items} />
          <Further issuers={linkable} />
        </>
      )}
    </Loaded>
  );
}

function AccountTable({ items }: { items: readonly Account[] }) {
  const leaving = useSignal<Account | undefined>(undefined);
  const close = () => {
    leaving.value = undefined;
  };
  async function unlink({ id }: Account): Promise<void> {
    await api.DELETE('/auth/v1/links/{id}', { params: { path: { id } } });
    close();
    await refetch(key);
    toast('ok', t('accounts.unlinked'));
  }
  return (
    <>
      <PlainTable
        label={t('accounts.title')}
        rows={items}
        idOf={({ id }) => id}
        columns={[
          { title: t('accounts.issuer'), cell: ({ name }) => <span class="strong">{name}</span> },
          { title: t('accounts.subject'), cell: ({ subjectName }) => subjectName },
          {
            title: t('accounts.linked'),
            cell: ({ linkedTime }) => (linkedTime ? dateTime(linkedTime) : <span class="muted">{t('accounts.first')}</span>),
          },
          {
            title: '',
            cell: (account) =>
              !account.isFirst && (
                <Button
                  kind="quiet"
                  onClick={() => {
                    leaving.value = account;
                  }}
                >
                  {t('accounts.unlink')}
                </Button>
              ),
          },
        ]}
      />
      {leaving.value && (
        <Confirm
          title={t('accounts.unlinkOf', { name: leaving.value.name })}
          onClose={close}
          onConfirm={() => (leaving.value ? unlink(leaving.value) : Promise.resolve())}
        >
          <p>{t('accounts.unlinkWhat')}</p>
        </Confirm>
      )}
    </>
  );
}

/** Shows a button for each issuer without a linked account. */
function Further({ issuers }: { issuers: Schemas['LinkedAccountList']['linkable'] }) {
  const link = (issuer: string) => () => {
    begin(issuer).catch((error: unknown) => toast('bad', asProblem(error).message));
  };
  if (issuers.length === 0) return null;
  return (
    <>
      <div class="buttons">
        {issuers.map(({ id, name }) => (
          <Button key={id} icon={Link2} onClick={link(id)}>
            {t('accounts.link', { name })}
          </Button>
        ))}
      </div>
      <p class="muted small measure">{t('accounts.elsewhere')}</p>
    </>
  );
}

async function begin(issuer: string): Promise<void> {
  const { auth_url: address } = await bodyOf(api.POST('/auth/v1/links', { body: { issuer, return_to: location.pathname } }));
  goTo(address);
}
