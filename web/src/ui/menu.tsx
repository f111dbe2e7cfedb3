import { folded } from '@atrium/objects/folded.ts';
import { useSignal } from '@preact/signals';
import type { IconNode } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from './icon';

export interface MenuItem {
  label: string;
  icon?: IconNode;
  /** True for the chosen item of several. */
  isChecked?: boolean;
  isDanger?: boolean;
  /** Greys the item, which the keyboard still reaches: choosing it shows the reason. */
  isRefused?: boolean;
  /** Draws a line above the item. */
  isApart?: boolean;
  /** True for an action that an `ActionBar` draws as a button, unless it is refused. */
  isAtHand?: boolean;
  act: () => void;
  /** Returns another item that is drawn beside this one. */
  beside?: (isOpen: boolean) => ComponentChildren;
}

interface MenuProps {
  label: string;
  icon?: IconNode;
  items: readonly MenuItem[];
  children?: ComponentChildren;
  kind?: 'plain' | 'quiet';
  onOpen?: () => void;
}

function moveFocus(event: preact.TargetedKeyboardEvent<HTMLElement>, all: readonly HTMLElement[]): void {
  const at = all.indexOf(document.activeElement as HTMLElement);
  const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    all[to]?.focus();
  } else if (event.key === 'Tab') event.currentTarget.hidePopover();
  else if (event.key.length === 1) all.find(({ textContent }) => folded(textContent ?? '').startsWith(folded(event.key)))?.focus();
}

/** Places a menu below its button, or above it where the window has no room below. */
function placeBeside(menu: HTMLElement, button: HTMLElement | null): void {
  const anchor = button?.getBoundingClientRect();
  if (!anchor) return;
  const { width, height } = menu.getBoundingClientRect();
  const below = anchor.bottom + 4 + height <= innerHeight || anchor.top < height;
  menu.style.top = `${below ? anchor.bottom + 4 : anchor.top - height - 4}px`;
  const start = getComputedStyle(menu).direction === 'rtl' ? anchor.right - width : anchor.left;
  menu.style.left = `${Math.max(8, Math.min(start, innerWidth - width - 8))}px`;
}

/** Places an open menu again and again: an element that appears above its button moves it, and no event reports that. */
function usePlacedAgain(isOpen: boolean, place: () => void): void {
  useEffect(() => {
    if (!isOpen) return;
    const timer = setInterval(place, 200);
    return () => clearInterval(timer);
  }, [isOpen]);
}

/** A button with a popover of choices, moved through by arrows (APG: menu button). */
export function Menu({ label, icon, items, children, kind = 'quiet', onOpen }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const isOpen = useSignal(false);
  const entries = () => [...(list.current?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])];

  /** Places the menu and moves the focus into it at once: the browser alone would report the opening later. */
  function toggle(event: MouseEvent): void {
    event.preventDefault();
    if (!list.current?.togglePopover({ source: button.current as HTMLElement })) return;
    isOpen.value = true;
    onOpen?.();
    placeBeside(list.current, button.current);
    entries()[0]?.focus();
  }
  usePlacedAgain(isOpen.value, () => list.current && placeBeside(list.current, button.current));

  return (
    <>
      <button
        ref={button}
        type="button"
        class={`button ${kind}`}
        popovertarget={id}
        onClick={toggle}
        aria-haspopup="menu"
        aria-label={children === undefined ? label : undefined}
        title={children === undefined ? label : undefined}
      >
        {icon && <Icon of={icon} />}
        {children !== undefined && <span>{children}</span>}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        tabIndex={-1}
        class="menu"
        aria-label={label}
        onKeyDown={(event) => moveFocus(event, entries())}
        onToggle={({ newState }) => {
          isOpen.value = newState === 'open';
        }}
      >
        {items.map((item) => {
          const button = <Item key={item.label} of={item} onChosen={() => list.current?.hidePopover()} />;
          if (item.beside === undefined) return button;
          return (
            <div key={item.label} role="none" class={`two ${item.isApart ? 'apart' : ''}`}>
              {button}
              {item.beside(isOpen.value)}
            </div>
          );
        })}
      </div>
    </>
  );
}

const Item = ({ of: item, onChosen }: { of: MenuItem; onChosen: () => void }) => (
  // biome-ignore lint/a11y/useAriaPropsSupportedByRole: its role is menuitemradio where it has aria-checked
  <button
    type="button"
    role={item.isChecked === undefined ? 'menuitem' : 'menuitemradio'}
    aria-checked={item.isChecked}
    aria-disabled={item.isRefused ? 'true' : undefined}
    tabIndex={-1}
    class={`${item.isDanger ? 'danger' : ''} ${item.isApart && !item.beside ? 'apart' : ''}`}
    onClick={() => {
      onChosen();
      item.act();
    }}
  >
    {item.icon && <Icon of={item.icon} />}
    <span>{item.label}</span>
  </button>
);
