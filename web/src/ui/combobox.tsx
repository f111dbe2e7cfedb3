import { folded, wantedText } from '@atrium/objects/folded.ts';
import { type Signal, useSignal } from '@preact/signals';
import { ChevronDown } from 'lucide';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../text/text';
import { Icon } from './icon';

/** Option of a combobox: the text for the field, and its explanation. */
export interface Suggestion {
  value: string;
  label?: string | undefined;
  /** Reason for which the suggestion is greyed. */
  refused?: string | undefined;
}

interface ComboboxProps {
  id: string;
  /** Label of the field, and of its list. */
  label: string;
  value: Signal<string>;
  suggestions: readonly (Suggestion | string)[];
  /** Attributes of the input. */
  attributes: Readonly<Record<string, unknown>>;
}

const shownAtOnce = 50;

/** The state of the list: open or not, the active suggestion, and the suggestions that match what is typed. */
function useOptions(value: Signal<string>, suggestions: ComboboxProps['suggestions']) {
  const isOpen = useSignal(false);
  /** All suggestions are shown until something is typed. */
  const isTyped = useSignal(false);
  const active = useSignal(-1);
  const all = suggestions.map((one) => (typeof one === 'string' ? { value: one } : one));
  const words = isTyped.value ? wantedText(value.value) : '';
  const fitting = all.filter((one) => folded(`${one.value} ${one.label ?? ''}`).includes(words)).slice(0, shownAtOnce);
  const [first] = fitting;
  const isWhole = isTyped.value && fitting.length === 1 && first && folded(first.value) === words && first.refused === undefined;
  const isShown = isOpen.value && fitting.length > 0 && !isWhole;

  function hide(): void {
    isOpen.value = false;
    active.value = -1;
  }
  function show(at: number): void {
    isTyped.value = isShown && isTyped.value;
    isOpen.value = true;
    active.value = at;
  }
  function choose(chosen: Suggestion): void {
    if (chosen.refused !== undefined) return;
    value.value = chosen.value;
    isTyped.value = false;
    hide();
  }
  function type(text: string): void {
    value.value = text;
    isTyped.value = true;
    isOpen.value = true;
    active.value = -1;
  }
  /** Moves the active suggestion, cyclically. Starts at the first or the last one, and at the chosen one when the list opens. */
  function move(step: 1 | -1): void {
    const count = Math.max(1, isShown ? fitting.length : Math.min(all.length, shownAtOnce));
    const chosen = isShown ? -1 : all.findIndex((one) => one.value === value.value);
    const first = chosen >= 0 && chosen < count ? chosen : step > 0 ? 0 : count - 1;
    show(active.value < 0 ? first : (active.value + step + count) % count);
  }
  return { fitting, isShown, active: active.value, hide, show, choose, type, move };
}

type Options = ReturnType<typeof useOptions>;

function onKeyDown(event: KeyboardEvent, options: Options): void {
  const { key, altKey } = event;
  const chosen = options.isShown ? options.fitting[options.active] : undefined;
  // Suggestions may arrive after the key press.
  if (key === 'Escape') options.hide();
  if (key === 'ArrowDown' && altKey) options.show(-1);
  else if (key === 'ArrowDown') options.move(1);
  else if (key === 'ArrowUp') options.move(-1);
  else if (key === 'Enter' && chosen) options.choose(chosen);
  else if (key !== 'Escape' || !options.isShown) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Shows the list below its field for as long as neither is moved. */
function usePopup(
  input: RefObject<HTMLInputElement | null>,
  list: RefObject<HTMLDivElement | null>,
  { isShown, fitting, active, hide }: Options,
): void {
  useEffect(() => {
    const [field, popup] = [input.current, list.current];
    if (!isShown || !field || !popup) return;
    popup.showPopover();
    place(field, popup);
    const close = (event: Event) => {
      if (event.target !== popup) hide();
    };
    addEventListener('scroll', close, true);
    addEventListener('resize', close);
    return () => {
      removeEventListener('scroll', close, true);
      removeEventListener('resize', close);
      popup.hidePopover();
    };
  }, [isShown, fitting.length]);
  useEffect(() => list.current?.children[active]?.scrollIntoView({ block: 'nearest' }), [active]);
}

/** Text field with suggestions, moved through by arrow keys (APG: editable combobox with list autocomplete). Other texts are allowed. */
export function Combobox({ id, label, value, suggestions, attributes }: ComboboxProps) {
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const options = useOptions(value, suggestions);
  const { fitting, isShown, active } = options;
  usePopup(input, list, options);
  return (
    <div class="combobox">
      <input
        {...attributes}
        ref={input}
        id={id}
        role="combobox"
        value={value.value}
        spellcheck={false}
        aria-expanded={isShown}
        aria-controls={`${id}list`}
        aria-autocomplete="list"
        aria-activedescendant={isShown && active >= 0 ? `${id}option${active}` : undefined}
        onInput={({ currentTarget }) => options.type(currentTarget.value)}
        onKeyDown={(event) => onKeyDown(event, options)}
        onBlur={options.hide}
      />
      <button
        type="button"
        tabIndex={-1}
        aria-label={t('combobox.show', { label })}
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => {
          input.current?.focus();
          if (isShown) options.hide();
          else options.show(-1);
        }}
      >
        <Icon of={ChevronDown} />
      </button>
      <div ref={list} id={`${id}list`} popover="manual" role="listbox" class="menu options" aria-label={t('combobox.list', { label })}>
        {fitting.map((one, index) => (
          <Option key={one.value} id={`${id}option${index}`} of={one} isActive={index === active} onChoose={options.choose} />
        ))}
      </div>
    </div>
  );
}

interface OptionProps {
  id: string;
  of: Suggestion;
  isActive: boolean;
  onChoose: (chosen: Suggestion) => void;
}

const Option = ({ id, of, isActive, onChoose }: OptionProps) => (
  // biome-ignore lint/a11y/useKeyWithClickEvents: its keys are those of the input, which keeps the focus
  <div
    id={id}
    role="option"
    tabIndex={-1}
    aria-selected={isActive}
    aria-disabled={of.refused !== undefined}
    onMouseDown={(event) => event.preventDefault()}
    onClick={() => onChoose(of)}
  >
    {of.value}
    {of.label && <span class="muted small"> {of.label}</span>}
    {of.refused && <div class="small">{of.refused}</div>}
  </div>
);

/** Places the list below the field, or above it if there is more room. */
function place(field: HTMLElement, popup: HTMLElement): void {
  const { left, right, top, bottom } = field.getBoundingClientRect();
  const { height } = popup.getBoundingClientRect();
  const isBelow = bottom + 4 + height <= innerHeight || top < height;
  popup.style.left = `${left}px`;
  popup.style.width = `${right - left}px`;
  popup.style.top = `${isBelow ? bottom + 4 : top - height - 4}px`;
}
