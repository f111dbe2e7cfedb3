import { typedText } from '@atrium/objects/typed-text.ts';
import type { Signal } from '@preact/signals';
import { t } from '../../text/text';
import { Field } from '../../ui/form';

const kinds = ['user', 'group', 'account'] as const;
type Kind = (typeof kinds)[number];

export interface SubjectSignals {
  kind: Signal<string>;
  name: Signal<string>;
}

const isKind = (kind: string): kind is Kind => kinds.some((one) => one === kind);

/** Asks for a user, a group or a ServiceAccount. */
export function SubjectFields({ kind, name, offered = kinds }: SubjectSignals & { offered?: readonly Kind[] }) {
  const current = isKind(kind.value) ? kind.value : 'user';
  return (
    <>
      <Field label={t('access.who')} name="kind" value={kind}>
        {offered.map((one) => (
          <option key={one} value={one}>
            {t(`explorer.who.${one}`)}
          </option>
        ))}
      </Field>
      <Field label={t(`access.nameOf.${current}`)} name="name" value={name} isRequired hint={t(`access.hint.${current}`)} />
    </>
  );
}

/** Returns the query of the subject. */
export function subjectQuery({ kind, name }: SubjectSignals): { user?: string; group?: string; serviceaccount?: string } {
  const given = typedText(name.value);
  if (kind.value === 'group') return { group: given };
  return kind.value === 'account' ? { serviceaccount: given } : { user: given };
}
