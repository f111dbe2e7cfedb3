import { useSignal } from '@preact/signals';
import type { Schemas } from '../../api/client';
import { refetch } from '../../api/load';
import { write } from '../../api/objects';
import { t, timeZone } from '../../text/text';
import { Conflict } from '../../ui/conflict';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { instant, localTime } from '../../ui/local-time';
import { toast } from '../../ui/toast';
import { asRead, bindingsPath } from './as-read';

type Binding = Schemas['UserBinding'];

interface EditTermProps {
  binding: Binding;
  onClose: () => void;
}

/** Form for the begin and the end of a binding. Other changes require a new binding; a change since it was read is compared. */
export function EditTerm({ binding, onClose }: EditTermProps) {
  const read = useSignal(binding);
  const isConflict = useSignal(false);
  const { name } = binding.metadata;
  const [begin, end] = [useSignal(localTime(binding.spec.notBefore)), useSignal(localTime(binding.spec.expiresAt))];
  const theirs = { notBefore: localTime(read.value.spec.notBefore), expiresAt: localTime(read.value.spec.expiresAt) };
  async function save(signal: AbortSignal): Promise<void> {
    // A time that was not touched keeps its seconds.
    const spec = {
      ...(begin.value !== theirs.notBefore && { notBefore: begin.value ? instant(begin.value) : null }),
      ...(end.value !== theirs.expiresAt && { expiresAt: end.value ? instant(end.value) : null }),
    };
    const patch = (metadata: object) =>
      write(`${bindingsPath}/${name}`, { method: 'PATCH', body: { metadata, spec }, contentType: 'application/merge-patch+json' });
    const now = await asRead(read.value, patch, signal);
    if (now !== undefined) {
      read.value = now;
      isConflict.value = true;
      return;
    }
    await refetch('bindings');
    onClose();
    toast('ok', t('action.saved'));
  }
  return (
    <Dialog title={t('bindings.changeTimes')} onClose={onClose}>
      <Form action={t(isConflict.value ? 'conflict.save' : 'action.save')} onSubmit={save} onCancel={onClose}>
        <p class="muted measure">{t('bindings.timesWhat')}</p>
        {/* Rules about both times are refused at `spec`, and this form can break no other. */}
        <Field label={t('bindings.from')} name="spec" type="datetime-local" value={begin} />
        <Field
          label={t('bindings.until')}
          name="spec.expiresAt"
          type="datetime-local"
          value={end}
          hint={t('bindings.whenHint', { zone: timeZone() })}
        />
        {isConflict.value && (
          <Conflict
            fields={[
              { label: t('bindings.from'), theirs: theirs.notBefore, yours: begin },
              { label: t('bindings.until'), theirs: theirs.expiresAt, yours: end },
            ]}
          />
        )}
      </Form>
    </Dialog>
  );
}
