import { useSignal } from '@preact/signals';
import { Search } from 'lucide';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../text/text';
import { Icon } from '../ui/icon';
import '../ui/palette.css';
import { type Command, useCommands } from './commands';

const pauseMs = 150;
const limit = 40;

/** A field with a list below it (APG: combobox); the focus stays in the field. */
export function Palette({ onClose }: { onClose: () => void }) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useSignal('');
  const search = useSignal('');
  const at = useSignal(0);
  const commands = useCommands(typed.value, search.value).slice(0, limit);
  const current = Math.min(at.value, commands.length - 1);

  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    const timer = setTimeout(() => {
      search.value = typed.value;
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [typed.value]);
  useEffect(() => dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }), [current]);

  function run(command: Command | undefined): void {
    if (command === undefined) return;
    dialog.current?.close();
    onClose();
    command.act();
  }
  function onKeyDown(event: KeyboardEvent): void {
    const last = commands.length - 1;
    const to = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + 8, PageUp: current - 8 }[event.key];
    if (to !== undefined)
      at.value = to > last && event.key === 'ArrowDown' ? 0 : to < 0 && event.key === 'ArrowUp' ? last : Math.min(last, Math.max(0, to));
    else if (event.key === 'Enter' && !event.isComposing) run(commands[current]);
    else return;
    event.preventDefault();
  }
  return (
    <dialog ref={dialog} class="palette" aria-label={t('palette.title')} closedby="any" onClose={onClose}>
      <label class="find">
        <Icon of={Search} />
        <input
          role="combobox"
          aria-label={t('palette.title')}
          aria-expanded="true"
          aria-controls={`${id}list`}
          aria-activedescendant={commands.length > 0 ? `${id}${current}` : undefined}
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
      <div role="listbox" id={`${id}list`} aria-label={t('palette.title')}>
        {commands.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field
          <div
            key={command.group + command.id}
            id={`${id}${index}`}
            role="option"
            aria-selected={index === current}
            onClick={() => run(command)}
            onPointerMove={() => {
              at.value = index;
            }}
          >
            {command.icon ? <Icon of={command.icon} /> : <span class="icon" />}
            <span class="label">{command.label}</span>
            {command.hint && <span class="muted hint">{command.hint}</span>}
            <span class="muted small">{command.group}</span>
          </div>
        ))}
      </div>
      <p class="muted none" role="status">
        {commands.length === 0 && t('palette.none')}
      </p>
    </dialog>
  );
}
