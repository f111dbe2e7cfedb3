import { folded, wantedText } from '@atrium/objects/folded.ts';
import { type Signal, useSignal } from '@preact/signals';
import { ChevronDown } from 'lucide';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { count, t } from '../text/text';
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
  /** Makes the field a choice: nothing changes before an option is chosen, and the best match is active while the user types. */
  choice?: Choice;
}

interface Choice {
  /** Text of the present choice, which returns when the field is left. */
  shown: string;
  onChoose: (value: string) => void;
  /** Returns an option for a text that is none of the suggestions. */
  other: (text: string) => Suggestion | undefined;
}

const shownAtOnce = 50;

/** Returns the suggestions that contain a text, those that begin with it first. */
function matching(all: readonly Suggestion[], words: string): Suggestion[] {
  const found = all.filter(({ value, label = '' }) => folded(`${value} ${label}`).includes(words));
  const isBest = ({ value }: Suggestion) => folded(value).startsWith(words);
  return [...found.filter(isBest), ...found.filter((one) => !isBest(one))];
}

type Source = Pick<ComboboxProps, 'value' | 'suggestions' | 'choice'>;

/** Returns the options for what is typed, and the number of those that are left out. */
function optionsFor({ value: { value }, suggestions, choice }: Source, isTyped: boolean) {
  const all = suggestions.map((one) => (typeof one === 'string' ? { value: one } : one));
  const words = isTyped ? wantedText(value) : '';
  const found = matching(all, words);
  const other = isTyped && !all.some((one) => one.value === value) ? choice?.other(value.trim()) : undefined;
  const fitting = [...found.slice(0, shownAtOnce), ...(other ? [other] : [])];
  const [first] = fitting;
  const isWhole = isTyped && fitting.length === 1 && first && folded(first.value) === words && first.refused === undefined;
  return { all, fitting, hiddenCount: Math.max(0, found.length - shownAtOnce), isWhole: !choice && isWhole };
}

/** The state of the list: open or not, the active suggestion, and the suggestions that match what is typed. */
function useOptions(source: Source) {
  const { value, choice } = source;
  const isOpen = useSignal(false);
  /** All suggestions are shown until something is typed. */
  const isTyped = useSignal(false);
  const active = useSignal(-1);
  const { all, fitting, hiddenCount, isWhole } = optionsFor(source, isTyped.value);
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
    choice?.onChoose(chosen.value);
  }
  function leave(): void {
    hide();
    if (!choice) return;
    value.value = choice.shown;
    isTyped.value = false;
  }
  function type(text: string): void {
    value.value = text;
    isTyped.value = true;
    isOpen.value = true;
    active.value = choice ? 0 : -1;
  }
  /** Moves the active suggestion, cyclically. Starts at the first or the last one, and at the chosen one when the list opens. */
  function move(step: 1 | -1): void {
    const count = Math.max(1, isShown ? fitting.length : Math.min(all.length, shownAtOnce));
    const chosen = isShown ? -1 : all.findIndex((one) => one.value === value.value);
    const first = chosen >= 0 && chosen < count ? chosen : step > 0 ? 0 : count - 1;
    show(active.value < 0 ? first : (active.value + step + count) % count);
  }
  return { fitting, hiddenCount, isShown, active: active.value, hide, leave, show, choose, type, move };
}

type Options = ReturnType<typeof useOptions>;

function onKeyDown(event: KeyboardEvent, options: Options): void {
  const { key, altKey } = event;
  const chosen = options.isShown ? options.fitting[options.active] : undefined;
  // Suggestions may arrive after the key press.
  if (key === 'Escape') options.leave();
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
  box: RefObject<HTMLDivElement | null>,
  { isShown, fitting, active, hide }: Options,
): void {
  useEffect(() => {
    const [field, popup] = [input.current, box.current];
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
  useEffect(() => box.current?.firstElementChild?.children[active]?.scrollIntoView({ block: 'nearest' }), [active]);
}

/** Text field with suggestions, moved through by arrow keys (APG: editable combobox with list autocomplete). Other texts are allowed. */
export function Combobox({ id, label, value, suggestions, attributes, choice }: ComboboxProps) {
  const input = useRef<HTMLInputElement>(null);
  const popup = useRef<HTMLDivElement>(null);
  const options = useOptions({ value, suggestions, ...(choice && { choice }) });
  const { fitting, isShown, active } = options;
  usePopup(input, popup, options);
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
        onFocus={({ currentTarget }) => choice && currentTarget.select()}
        onClick={() => choice && !isShown && options.show(-1)}
        onBlur={options.leave}
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
      <div ref={popup} popover="manual" class="menu options">
        <div id={`${id}list`} role="listbox" aria-label={t('combobox.list', { label })}>
          {fitting.map((one, index) => (
            <Option key={one.value} id={`${id}option${index}`} of={one} isActive={index === active} onChoose={options.choose} />
          ))}
        </div>
        {options.hiddenCount > 0 && (
          <p class="muted small">{t('combobox.more', { count: options.hiddenCount, shown: count(options.hiddenCount) })}</p>
        )}
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

/** Names are longer than a narrow field. */
const leastWidth = 240;

/** Places the list below the field, or above it if there is more room. */
function place(field: HTMLElement, popup: HTMLElement): void {
  const { left, right, top, bottom } = field.getBoundingClientRect();
  const width = Math.max(right - left, leastWidth);
  const { height } = popup.getBoundingClientRect();
  const isBelow = bottom + 4 + height <= innerHeight || top < height;
  popup.style.left = `${Math.max(0, Math.min(left, innerWidth - width - 8))}px`;
  popup.style.width = `${width}px`;
  popup.style.top = `${isBelow ? bottom + 4 : top - height - 4}px`;
}
