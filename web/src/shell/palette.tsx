import { type Signal, useSignal } from '@preact/signals';
import { Search } from 'lucide';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { offerLanguages } from '../text/offer-languages';
import { t } from '../text/text';
import { Icon } from '../ui/icon';
import '../ui/palette.css';
import { type Command, useCommands } from './commands';
import { type Found, useFound } from './found';

const pauseMs = 150;
const limit = 40;

/** A field with a list below it (APG: combobox); the focus stays in the field. */
export function Palette({ onClose }: { onClose: () => void }) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal('');
  const at = useSignal(0);
  const found = useFound(typed.value, usePaused(typed));
  const commands = [...useCommands(typed.value).slice(0, limit), ...found.commands];
  const current = Math.min(at.value, commands.length - 1);

  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(offerLanguages, []);
  useEffect(() => dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }), [current]);

  function run(command: Command | undefined): void {
    if (command === undefined) return;
    dialog.current?.close();
    onClose();
    command.act();
  }
  function onKeyDown(event: KeyboardEvent): void {
    const to = movedTo(event.key, current, commands.length - 1);
    if (to !== undefined) at.value = to;
    else if (event.key === 'Enter' && !event.isComposing) run(commands[current]);
    else return;
    event.preventDefault();
  }
  return (
    <dialog ref={dialog} class="palette" aria-label={t('palette.title')} closedby="any" onClose={onClose}>
      <Field {...{ id, typed, at, onKeyDown }} active={commands.length > 0 ? `${id}${current}` : undefined} />
      <div role="listbox" id={`${id}list`} aria-label={t('palette.title')}>
        {sectionsOf(commands).map(({ title, first, commands: some }) => (
          // biome-ignore lint/a11y/useSemanticElements: a listbox has groups
          <div key={title} role="group" aria-label={title || t('palette.commands')}>
            {title && (
              <p class="section muted small" aria-hidden="true">
                {title}
              </p>
            )}
            {some.map((command, index) => (
              <Option
                key={command.group + command.id}
                {...{ id, command, at, run }}
                index={first + index}
                isCurrent={first + index === current}
              />
            ))}
          </div>
        ))}
      </div>
      <Outcome of={found} isEmpty={commands.length === 0} />
    </dialog>
  );
}

/** Says that a search goes on or found nothing, and which kinds it left out. */
function Outcome({ of: { isSearching, hasFailed, isPartial, notices }, isEmpty }: { of: Found; isEmpty: boolean }) {
  const none = isEmpty && !hasFailed && <p>{t(isPartial ? 'palette.noneSearched' : 'palette.none')}</p>;
  return (
    <div class="muted none" role="status">
      {isSearching ? <p>{t('palette.searching')}</p> : none}
      {notices.map((notice) => (
        <p key={notice}>{notice}</p>
      ))}
    </div>
  );
}

/** The typed text, after a pause. */
function usePaused(typed: Signal<string>): string {
  const paused = useSignal('');
  useEffect(() => {
    const timer = setTimeout(() => {
      paused.value = typed.value;
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [typed.value]);
  return paused.value;
}

/** @returns undefined for a key that does not move the choice */
function movedTo(key: string, current: number, last: number): number | undefined {
  const to = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + 8, PageUp: current - 8 }[key];
  if (to === undefined) return undefined;
  if (to > last && key === 'ArrowDown') return 0;
  return to < 0 && key === 'ArrowUp' ? last : Math.min(last, Math.max(0, to));
}

interface Section {
  title: string;
  /** The index of its first command among all. */
  first: number;
  commands: Command[];
}

function sectionsOf(commands: readonly Command[]): Section[] {
  const sections: Section[] = [];
  for (const [index, command] of commands.entries()) {
    const { section: title = '' } = command;
    const last = sections.at(-1);
    if (last?.title === title) last.commands.push(command);
    else sections.push({ title, first: index, commands: [command] });
  }
  return sections;
}

interface FieldProps {
  id: string;
  typed: Signal<string>;
  at: Signal<number>;
  active: string | undefined;
  onKeyDown: (event: KeyboardEvent) => void;
}

const Field = ({ id, typed, at, active, onKeyDown }: FieldProps) => (
  <label class="find">
    <Icon of={Search} />
    <input
      role="combobox"
      aria-label={t('palette.title')}
      aria-expanded="true"
      aria-controls={`${id}list`}
      aria-activedescendant={active}
      aria-autocomplete="list"
      placeholder={t('palette.hint')}
      autocomplete="off"
      spellcheck={false}
      maxLength={128}
      value={typed.value}
      onInput={({ currentTarget }) => {
        typed.value = currentTarget.value;
        at.value = 0;
      }}
      onKeyDown={onKeyDown}
    />
  </label>
);

interface OptionProps {
  id: string;
  command: Command;
  index: number;
  isCurrent: boolean;
  at: Signal<number>;
  run: (command: Command) => void;
}

const Option = ({ id, command, index, isCurrent, at, run }: OptionProps) => (
  // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
  // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field
  <div
    id={`${id}${index}`}
    role="option"
    aria-selected={isCurrent}
    onClick={() => run(command)}
    onPointerMove={() => {
      at.value = index;
    }}
  >
    {command.icon ? <Icon of={command.icon} /> : <span class="icon" />}
    <span class="label">{command.label}</span>
    {command.hint && <span class="muted hint">{command.hint}</span>}
    {command.group && <span class="muted small">{command.group}</span>}
  </div>
);
