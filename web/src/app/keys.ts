/** Keyboard shortcuts of all pages. Single keys are inactive in fields and behind dialogs, and can be switched off (WCAG 2.1.4). */
import { effect, signal } from '@preact/signals';

const keysKey = 'atrium-keys';

export const hasSingleKeys = signal(localStorage.getItem(keysKey) !== 'off');
interface Opening {
  /** Differs for each opening of the same overlay. */
  id: number;
  name: 'palette' | 'keys' | 'ask' | 'messages' | 'why';
}

/** Overlay above the page. */
export const overlay = signal<Opening>();
let openings = 0;

export function openOverlay(name: Opening['name']): void {
  openings += 1;
  overlay.value = { id: openings, name };
}

export const singleKeys = ['/', 'j', 'k', 'Enter', 'x', '?'] as const;

const fields = 'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable], [role="textbox"], [data-keys="own"]';

export function startKeys(): void {
  effect(() => {
    if (hasSingleKeys.value) localStorage.removeItem(keysKey);
    else localStorage.setItem(keysKey, 'off');
  });
  document.addEventListener('keydown', onKeyDown);
}

function onKeyDown(event: KeyboardEvent): void {
  // Inside the shadow root of a plugin too.
  const [target] = event.composedPath();
  const at = target instanceof Element ? target : document.body;
  if (at.closest('[data-keys="own"]')) return;
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    if (document.querySelector('dialog[open]') === null) openOverlay('palette');
    return;
  }
  // The overlay is still loading: keys are not meant for the page behind it.
  if (overlay.value !== undefined && document.querySelector('dialog[open]') === null) {
    if (event.key === 'Escape') overlay.value = undefined;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !hasSingleKeys.value) return;
  if (at.closest(fields) || document.querySelector('dialog[open], [popover]:popover-open')) return;
  if (act(event.key)) event.preventDefault();
}

/** @returns whether the key was handled */
function act(key: string): boolean {
  switch (key) {
    case '/':
      return focus(document.querySelector('main [data-find]'));
    case '?':
      openOverlay('keys');
      return true;
    case 'j':
    case 'k':
      return step(key === 'j' ? 1 : -1);
    case 'x': {
      const box = currentRow()?.querySelector<HTMLElement>('input[type="checkbox"]');
      box?.click();
      return box !== null && box !== undefined;
    }
    default:
      // Enter is the browser's own: `j` and `k` put the focus on the link of a row.
      return false;
  }
}

const rows = () => [...document.querySelectorAll<HTMLElement>('main tbody tr:not(.spacer)')];
const currentRow = () => rows().find((row) => row.contains(document.activeElement));

function step(by: number): boolean {
  const all = rows();
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  return focus(next?.querySelector('a') ?? next?.querySelector('button, input') ?? null);
}

function focus(found: HTMLElement | null): boolean {
  found?.focus();
  found?.scrollIntoView({ block: 'nearest' });
  return found !== null;
}
