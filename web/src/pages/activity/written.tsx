/** Body of a write: the fields that a patch changed, or the object that was sent. Loaded when it is opened. */
import './styles';
import { t } from '../../text/text';
import type { AuditEvent } from './actions';
import { type ChangedField, changedFieldsOf } from './changed-fields';

const maxFields = 100;
const maxLength = 300;

const short = (text: string): string => (text.length > maxLength ? `${text.slice(0, maxLength)}…` : text);

export function Written({ event }: { event: AuditEvent }) {
  const { patchType, requestObject = '' } = event;
  const fields = changedFieldsOf(event);
  if (fields === undefined) return <pre>{JSON.stringify(JSON.parse(requestObject), undefined, 2)}</pre>;
  return (
    <>
      <ul class="changed">
        {fields.slice(0, maxFields).map((one, index) => (
          <li key={index}>
            <Field of={one} />
          </li>
        ))}
      </ul>
      {fields.length > maxFields && <p class="muted">{t('activity.moreFields', { count: fields.length - maxFields })}</p>}
      <p class="muted">{t(patchType?.startsWith('application/apply-patch') ? 'activity.applied' : 'activity.beforeKnown')}</p>
    </>
  );
}

const Field = ({ of: { field, before, after } }: { of: ChangedField }) => (
  <>
    <code>{short(field)}</code>: {before !== undefined && <del>{short(before)}</del>} →{' '}
    {after === undefined ? <em>{t('activity.removed')}</em> : <ins>{short(after)}</ins>}
  </>
);
