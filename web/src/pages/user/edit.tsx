import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch } from '../../api/load';
import { asProblem } from '../../api/problem';
import { may } from '../../app/rights';
import { t } from '../../text/text';
import { Conflict } from '../../ui/conflict';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { toast } from '../../ui/toast';
import { patchSpec } from '../users/writes';

const dayOf = (time: string | undefined) => time?.slice(0, 10) ?? '';

interface EditProps {
  user: Schemas['User'];
  onClose: () => void;
}

type User = Schemas['User'];

/** Edits a user. If the spec has changed since it was read, the change is refused, and both versions are shown to choose from. */
export function EditUser({ user, onClose }: EditProps) {
  const read = useSignal(user);
  const isConflict = useSignal(false);
  const [name, mail, mobile, end] = [
    useSignal(user.spec.username),
    useSignal(user.spec.mail ?? ''),
    useSignal(user.spec.mobile ?? ''),
    useSignal(dayOf(user.spec.expired?.end)),
  ];
  const mayAll = may({ verb: 'patch', resource: 'users', name: user.metadata.name }) === true;
  const { spec } = read.value;
  const fields = [
    { label: t('users.name'), theirs: spec.username, yours: name },
    ...(mayAll
      ? [
          { label: t('user.notices'), theirs: spec.mail ?? '', yours: mail },
          { label: t('user.mobile'), theirs: spec.mobile ?? '', yours: mobile },
          { label: t('user.validUntil'), theirs: dayOf(spec.expired?.end), yours: end },
        ]
      : []),
  ];
  async function save(signal: AbortSignal): Promise<void> {
    const typed = { username: name.value, ...(mayAll && { mail: mail.value, mobile: mobile.value, end: end.value }) };
    try {
      await patchSpec(read.value, changesOf(read.value, typed), signal);
    } catch (error) {
      const now = asProblem(error).status === 409 ? await current(read.value) : undefined;
      if (now === undefined) throw error;
      read.value = now;
      isConflict.value = true;
      return;
    }
    await refetch(`user/${user.metadata.name}`);
    onClose();
    toast('ok', t('action.saved'));
  }
  return (
    <Dialog title={t('user.edit')} onClose={onClose}>
      <Form action={t(isConflict.value ? 'conflict.save' : 'action.save')} onSubmit={save} onCancel={onClose}>
        <Field label={t('users.name')} name="spec.username" value={name} />
        {mayAll && (
          <>
            <Field label={t('user.notices')} name="spec.mail" type="email" value={mail} />
            <Field label={t('user.mobile')} name="spec.mobile" value={mobile} />
            <Field label={t('user.validUntil')} name="spec.expired.end" type="date" value={end} hint={t('user.validUntilHint')} />
          </>
        )}
        {isConflict.value && <Conflict fields={fields} />}
      </Form>
    </Dialog>
  );
}

interface Typed {
  username: string;
  mail?: string;
  mobile?: string;
  end?: string;
}

/** Returns the fields of the form that differ from what was read. Empty ones are removed. */
function changesOf({ spec }: User, { username, mail, mobile, end }: Typed) {
  const text = (name: 'mail' | 'mobile', value: string | undefined) =>
    value !== undefined && value !== (spec[name] ?? '') && { [name]: value || null };
  const isEndChanged = end !== undefined && end !== dayOf(spec.expired?.end);
  return {
    ...(username !== spec.username && { username }),
    ...text('mail', mail),
    ...text('mobile', mobile),
    ...(isEndChanged && { expired: end ? { ...spec.expired, end: `${end}T23:59:59Z` } : null }),
  };
}

/** Returns the current user record, or undefined if another one has the name by now. */
async function current({ metadata: { name, uid } }: User): Promise<User | undefined> {
  const user = await bodyOf(api.GET('/auth/v1/users/{name}', { params: { path: { name } } }));
  return user.metadata.uid === uid ? user : undefined;
}
