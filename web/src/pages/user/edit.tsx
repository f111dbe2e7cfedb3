import { useSignal } from '@preact/signals';
import type { Schemas } from '../../api/client';
import { refetch } from '../../api/load';
import { may } from '../../app/rights';
import { t } from '../../text/text';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { toast } from '../../ui/toast';
import { patchSpec } from '../users/writes';

const dayOf = (time: string | undefined) => time?.slice(0, 10) ?? '';

interface EditProps {
  user: Schemas['User'];
  onClose: () => void;
}

/** A change of the spec since it was read is refused, and nothing of it is lost. */
export function EditUser({ user, onClose }: EditProps) {
  const { metadata, spec } = user;
  const name = useSignal(spec.username);
  const mail = useSignal(spec.mail ?? '');
  const mobile = useSignal(spec.mobile ?? '');
  const end = useSignal(dayOf(spec.expired?.end));
  const mayAll = may({ verb: 'patch', resource: 'users', name: metadata.name }) === true;
  async function save(): Promise<void> {
    const expired =
      end.value === dayOf(spec.expired?.end) ? {} : { expired: end.value ? { ...spec.expired, end: `${end.value}T23:59:59Z` } : null };
    const changes = {
      ...(name.value !== spec.username && { username: name.value }),
      ...(mayAll && mail.value !== (spec.mail ?? '') && { mail: mail.value || null }),
      ...(mayAll && mobile.value !== (spec.mobile ?? '') && { mobile: mobile.value || null }),
      ...(mayAll && expired),
    };
    await patchSpec(user, changes);
    await refetch(`user/${metadata.name}`);
    onClose();
    toast('ok', t('action.saved'));
  }
  return (
    <Dialog title={t('user.edit')} onClose={onClose}>
      <Form action={t('action.save')} onSubmit={save} onCancel={onClose}>
        <Field label={t('users.name')} name="spec.username" value={name} />
        {mayAll && (
          <>
            <Field label={t('user.notices')} name="spec.mail" type="email" value={mail} />
            <Field label={t('user.mobile')} name="spec.mobile" value={mobile} />
            <Field label={t('user.validUntil')} name="spec.expired.end" type="date" value={end} hint={t('user.validUntilHint')} />
          </>
        )}
      </Form>
    </Dialog>
  );
}
