import { useSignal } from '@preact/signals';
import { Plus } from 'lucide';
import { api, bodyOf } from '../../api/client';
import { refetch } from '../../api/load';
import { ListPage } from '../../app/list-page';
import { may } from '../../app/rights';
import { query } from '../../app/router';
import { person } from '../../app/session';
import { t } from '../../text/text';
import { Copy } from '../../ui/copy';
import { Dialog, LastLine } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { ScopeFields, useScope } from './scope-fields';
import { useTokens } from './token-list';

const listRight = { verb: 'list', resource: 'accesstokens' };
const deleteRight = { verb: 'delete', resource: 'accesstokens' };

/** Returns the caller's own tokens, or on request those of all users, for callers who may list them. */
function useShownTokens() {
  const own = person.value?.ext.user;
  const mayListAll = may(listRight) === true;
  const isOfAll = mayListAll && query.value.get('of') === 'all';
  const { list, dialog } = useTokens({
    user: isOfAll ? undefined : (own ?? ''),
    mayRevoke: ({ spec }) => spec.owner === own || may(deleteRight) === true,
  });
  const filter = { name: 'of', label: t('tokens.owner'), any: t('tokens.own'), options: [['all', t('tokens.ofAll')]] } as const;
  const isNone = !isOfAll && own === undefined;
  const shown = {
    ...list,
    ...(isOfAll && { search: t('tokens.search') }),
    ...(mayListAll && { filters: [filter] }),
    ...(isNone && { fetch: () => async () => ({ items: [], total: 0, metadata: { resourceVersion: '' } }) }),
  };
  return { list: shown, dialog };
}

export function Page() {
  const isOpen = useSignal(false);
  const { list, dialog } = useShownTokens();
  const show = (isShown: boolean) => () => {
    isOpen.value = isShown;
  };
  return (
    <ListPage
      list={list}
      rights={[listRight, deleteRight]}
      about={t('tokens.what')}
      offers={[{ rights: [], label: t('tokens.new'), icon: Plus, to: show(true), isMain: true }]}
    >
      {dialog}
      {isOpen.value && <NewToken onClose={show(false)} />}
    </ListPage>
  );
}

const dayMs = 86_400_000;
const lifetimes = [7, 30, 90, 365];

function NewToken({ onClose }: { onClose: () => void }) {
  const [description, days] = [useSignal(''), useSignal('90')];
  const narrowed = useScope();
  const made = useSignal('');
  async function create(): Promise<void> {
    const expiration = Math.floor((Date.now() + Number(days.value) * dayMs) / 1000);
    const body = { description: description.value, expiration, ...narrowed.scope() };
    const { token = '' } = await bodyOf(api.POST('/auth/v1/accesstoken', { body }));
    made.value = token;
    await refetch('tokens/');
  }
  return (
    <Dialog title={t('tokens.new')} onClose={onClose}>
      {made.value ? (
        <>
          <p>{t('tokens.once')}</p>
          <Copy text={made.value} label={t('tokens.title')} />
          <LastLine onClose={onClose} isDone />
        </>
      ) : (
        <Form isShownOnce action={t('tokens.create')} onSubmit={create} onCancel={onClose}>
          <Field label={t('tokens.description')} name="description" value={description} isRequired hint={t('tokens.descriptionHint')} />
          <Field label={t('tokens.lifetime')} name="expiration" value={days}>
            {lifetimes.map((length) => (
              <option key={length} value={length}>
                {t('tokens.days', { count: length })}
              </option>
            ))}
          </Field>
          <ScopeFields of={narrowed} />
        </Form>
      )}
    </Dialog>
  );
}
