import { type Signal, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Field as FieldOptions, Form as FormOptions } from '../../../template/atrium-console';
import { Problem } from '../../api/problem';
import { CheckField, Field, Form } from '../../ui/form';

/** A form of a plugin. Typed texts stay when its fields change. */
export function FieldForm({ fields, action, isDanger = false, submit, cancel }: FormOptions) {
  const typed = useMemo(() => new Map<string, Signal<string>>(), []);
  const typedIn = ({ name, value = '' }: FieldOptions): Signal<string> => {
    const kept = typed.get(name) ?? signal(value);
    typed.set(name, kept);
    return kept;
  };
  return (
    <Form
      action={action}
      kind={isDanger ? 'danger' : 'main'}
      {...(cancel && { onCancel: cancel })}
      onSubmit={async (stop) => {
        const wrong = await submit(Object.fromEntries(fields.map((field) => [field.name, typedIn(field).value])), stop);
        if (wrong && Object.keys(wrong).length > 0) throw refused(wrong);
      }}
    >
      {fields.map((field) => (
        <OneField key={field.name} field={field} value={typedIn(field)} />
      ))}
    </Form>
  );
}

function OneField({ field: { name, label, type = 'text', hint, isRequired = false, options = [], suggestions }, value }: OneFieldProps) {
  if (type === 'checkbox')
    return (
      <CheckField
        label={label}
        name={name}
        isChecked={value.value === 'true'}
        onChange={(isChecked) => (value.value = isChecked ? 'true' : '')}
      />
    );
  return (
    <Field {...{ name, label, value, isRequired, hint }} {...(suggestions && { suggestions })} {...(type !== 'choice' && { type })}>
      {type === 'choice'
        ? options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label ?? option.value}
            </option>
          ))
        : undefined}
    </Field>
  );
}

interface OneFieldProps {
  field: FieldOptions;
  value: Signal<string>;
}

/** Returns messages at fields as a refusal of the service. */
const refused = (wrong: Readonly<Record<string, string>>): Problem =>
  new Problem(422, {
    reason: 'Invalid',
    message: Object.values(wrong).join(' '),
    details: { causes: Object.entries(wrong).map(([field, message]) => ({ reason: 'FieldValueInvalid', field, message })) },
  });
