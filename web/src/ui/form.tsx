/** Forms that show failures at their fields. */
import { typedText } from '@atrium/objects/typed-text.ts';
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { createContext, h } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { writesSoFar } from '../api/client';
import { refetch } from '../api/load';
import { away } from '../api/outage';
import { asProblem, noAnswer, type Problem } from '../api/problem';
import { t } from '../text/text';
import { Button } from './button';
import { Combobox, type Suggestion } from './combobox';
import { Closing, StaysOpen } from './dialog';
import { ProblemNotice } from './state';
import { useUnmountSignal } from './unmount-signal';

interface FormState {
  problem: Problem | undefined;
  /** Names of the fields. A cause about one of them is shown at that field alone. */
  names: Set<string>;
  /** Moves the focus to the first invalid field. */
  focusWrong: () => void;
}

const Current = createContext<FormState>({ problem: undefined, names: new Set(), focusWrong: () => undefined });

interface FormProps {
  /** Text of the button that submits the form. */
  action: string;
  kind?: 'main' | 'danger';
  /** @param signal aborted once the form is closed or the page is left: no further step may be sent then */
  onSubmit: (signal: AbortSignal) => Promise<void>;
  onCancel?: () => void;
  isDisabled?: boolean;
  /** Submits the form once, as soon as it is shown and not disabled. */
  isSubmittedAtOnce?: boolean;
  /** Focuses Cancel in a new dialog, so that Enter alone confirms nothing. */
  isFocusedOnCancel?: boolean;
  /** True for a result that is shown once, such as a password: the form and its dialog stay open until the result is there. */
  isShownOnce?: boolean;
  children?: ComponentChildren;
}

/** Returns the name of the field that holds the items of a list, for a cause about one of them. */
const listOf = (field = ''): string => field.replace(/\[\d+\]$/, '');

/** Returns the failure of a form. The page below shows the effect of a write whose answer is lost. */
function failureOf(error: unknown, hasWritten: boolean): Problem {
  const problem = asProblem(error);
  if (!hasWritten) return problem.ofWrite(false);
  if (problem.isOutage) void refetch('');
  return problem;
}

export function Form(props: FormProps) {
  const { action, kind = 'main', onSubmit, onCancel, isDisabled = false, isShownOnce = false, isFocusedOnCancel = false, children } = props;
  const isDue = useRef(props.isSubmittedAtOnce === true);
  const problem = useSignal<Problem | undefined>(undefined);
  const isBusy = useSignal(false);
  const names = useMemo(() => new Set<string>(), []);
  const form = useRef<HTMLFormElement>(null);
  const signal = useUnmountSignal();
  const staysOpen = useContext(StaysOpen);
  const isUnanswered = isBusy.value && away.value !== undefined;
  const isKept = isShownOnce && isBusy.value && !isUnanswered;
  useLayoutEffect(() => {
    staysOpen.current = isKept;
    return () => {
      staysOpen.current = false;
    };
  }, [isKept]);
  useEffect(() => {
    if (!isDue.current || isDisabled) return;
    isDue.current = false;
    form.current?.requestSubmit();
  }, [isDisabled]);
  const focusWrong = () => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  const isSaidAtFields =
    problem.value?.causes.length && problem.value.causes.every(({ field }) => names.has(field ?? '') || names.has(listOf(field)));
  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    if (isBusy.value || isDisabled) return;
    isBusy.value = true;
    problem.value = undefined;
    const writes = writesSoFar();
    try {
      await onSubmit(signal);
    } catch (error) {
      problem.value = failureOf(error, writesSoFar() > writes);
    } finally {
      isBusy.value = false;
    }
  }
  return (
    <Current.Provider value={{ problem: problem.value, names, focusWrong }}>
      <form ref={form} class="form" onSubmit={(event) => void submit(event)}>
        <Closing.Provider value={undefined}>{children}</Closing.Provider>
        {isUnanswered && <ProblemNotice of={noAnswer().ofWrite()} />}
        {problem.value && !isSaidAtFields && <ProblemNotice of={problem.value} />}
        <div class="buttons">
          <Button kind={kind} type="submit" isBusy={isBusy.value} isDisabled={isDisabled}>
            {action}
          </Button>
          {onCancel && (
            <Button kind="quiet" onClick={onCancel} isDisabled={isKept} isFocused={isFocusedOnCancel}>
              {t('action.cancel')}
            </Button>
          )}
        </div>
      </form>
    </Current.Provider>
  );
}

interface FieldProps {
  label: string;
  /** Name of the field in the causes of a refusal. */
  name: string;
  value: Signal<string>;
  type?: 'text' | 'email' | 'password' | 'date' | 'datetime-local' | 'number' | 'search';
  hint?: ComponentChildren;
  isRequired?: boolean;
  autocomplete?: string;
  /** Makes the field a combobox. Other texts are allowed. */
  suggestions?: readonly (Suggestion | string)[];
  children?: ComponentChildren;
  isCode?: boolean;
  /** Blanks around the text are part of it, as in a password. */
  isExact?: boolean;
}

/** Label, input, failure and hint of a field. Children are the options of a choice. */
export function Field(props: FieldProps) {
  const { label, name, value, type = 'text', hint, isRequired, autocomplete = 'off', suggestions, children, isCode, isExact } = props;
  const id = useId();
  const { problem, names, focusWrong } = useContext(Current);
  useEffect(() => {
    names.add(name);
    return () => void names.delete(name);
  }, [names, name]);
  const wrong =
    problem?.causes.filter(({ field }) => field === name || listOf(field) === name).map(({ message, reason }) => message || reason) ?? [];
  // Focus moves to the refused field before the next key press, and a screen reader reads its failure.
  useLayoutEffect(() => {
    if (wrong.length > 0) focusWrong();
  }, [problem]);
  const described = [hint !== undefined && `${id}hint`, wrong.length > 0 && `${id}wrong`].filter(Boolean).join(' ');
  const shared = {
    id,
    value: value.value,
    required: isRequired,
    'aria-invalid': wrong.length > 0 ? ('true' as const) : undefined,
    'aria-describedby': described || undefined,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLSelectElement }) => {
      value.value = currentTarget.value;
    },
    // The text is complete: the field is left, or the form is submitted. Blanks are copied along with what users paste.
    onChange: () => {
      if (type !== 'password' && !isExact) value.value = typedText(value.value);
    },
  };
  function input() {
    if (children !== undefined) return <select {...shared}>{children}</select>;
    const attributes = { ...shared, type, autocomplete, spellcheck: false, class: isCode ? 'code' : '' };
    if (suggestions) return <Combobox id={id} label={label} value={value} suggestions={suggestions} attributes={attributes} />;
    return h('input', attributes as Record<string, unknown>);
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {input()}
      {wrong.map((message) => (
        <p key={message} id={`${id}wrong`} class="wrong">
          {message}
        </p>
      ))}
      {hint !== undefined && (
        <p id={`${id}hint`} class="muted small">
          {hint}
        </p>
      )}
    </div>
  );
}

interface CheckFieldProps {
  label: ComponentChildren;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
  type?: 'checkbox' | 'radio';
  name?: string;
  isRequired?: boolean;
}

export const CheckField = ({ label, isChecked, onChange, type = 'checkbox', name, isRequired }: CheckFieldProps) => (
  <label class="choice">
    <input
      type={type}
      name={name}
      checked={isChecked}
      required={isRequired}
      onChange={({ currentTarget }) => onChange(currentTarget.checked)}
    />
    <span>{label}</span>
  </label>
);
