import { useSignal } from '@preact/signals';
import { Plus } from 'lucide';
import { api, bodyOf } from '../../api/client';
import { refetch } from '../../api/load';
import { person } from '../../app/session';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Copy } from '../../ui/copy';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { Empty } from '../../ui/state';
import { TokenList } from './token-list';

export function Page() {
  const isOpen = useSignal(false);
  const own = person.value?.ext.user;
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('tokens.title')}</h1>
        <div class="buttons">
          <Button
            kind="main"
            icon={Plus}
            onClick={() => {
              isOpen.value = true;
            }}
          >
            {t('tokens.new')}
          </Button>
        </div>
      </header>
      <p class="muted measure">{t('tokens.what')}</p>
      {own ? <TokenList user={own} mayRevoke /> : <Empty text={t('tokens.none')} />}
      {isOpen.value && (
        <NewToken
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </section>
  );
}

const dayMs = 86_400_000;
const lifetimes = [7, 30, 90, 365];

function NewToken({ onClose }: { onClose: () => void }) {
  const [description, days] = [useSignal(''), useSignal('90')];
  const made = useSignal('');
  async function create(): Promise<void> {
    const expiration = Math.floor((Date.now() + Number(days.value) * dayMs) / 1000);
    const { token = '' } = await bodyOf(api.POST('/auth/v1/accesstoken', { body: { description: description.value, expiration } }));
    made.value = token;
    await refetch('tokens/');
  }
  return (
    <Dialog title={t('tokens.new')} onClose={onClose}>
      {made.value ? (
        <>
          <p>{t('tokens.once')}</p>
          <Copy text={made.value} label={t('tokens.title')} />
          <div class="buttons">
            <Button kind="main" onClick={onClose}>
              {t('action.done')}
            </Button>
          </div>
        </>
      ) : (
        <Form action={t('tokens.create')} onSubmit={create} onCancel={onClose}>
          <Field label={t('tokens.description')} name="description" value={description} isRequired hint={t('tokens.descriptionHint')} />
          <Field label={t('tokens.lifetime')} name="expiration" value={days}>
            {lifetimes.map((length) => (
              <option key={length} value={length}>
                {t('tokens.days', { count: length })}
              </option>
            ))}
          </Field>
        </Form>
      )}
    </Dialog>
  );
}
