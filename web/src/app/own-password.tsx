import { useSignal } from '@preact/signals';
import { api } from '../api/client';
import { sealed } from '../api/password';
import { t } from '../text/text';
import { Field, Form } from '../ui/form';
import { person } from './session';

interface OwnPasswordProps {
  onDone: () => void;
  onCancel?: () => void;
}

/** Changes the caller's own password, which requires the current one. */
export function OwnPassword({ onDone, onCancel }: OwnPasswordProps) {
  const [before, next] = [useSignal(''), useSignal('')];
  async function change(signal: AbortSignal): Promise<void> {
    const spec = { old_password: await sealed(before.value), password: await sealed(next.value) };
    signal.throwIfAborted();
    await api.PATCH('/auth/v1/users/{name}', { params: { path: { name: person.value?.ext.user ?? '' } }, body: { spec } });
    onDone();
  }
  return (
    <Form action={t('password.change')} onSubmit={change} {...(onCancel && { onCancel })}>
      <input type="text" autocomplete="username" value={person.value?.name} hidden readOnly />
      <Field
        label={t('password.present')}
        name="spec.old_password"
        type="password"
        autocomplete="current-password"
        value={before}
        isRequired
      />
      <Field label={t('password.next')} name="spec.password" type="password" autocomplete="new-password" value={next} isRequired />
    </Form>
  );
}
