import type { IconNode } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';
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
  act: () => void;
}

interface MenuProps {
  label: string;
  icon?: IconNode;
  items: readonly MenuItem[];
  children?: ComponentChildren;
  kind?: 'plain' | 'quiet';
  onOpen?: () => void;
}

/** A button with a popover of choices, moved through by arrows (APG: menu button). */
export function Menu({ label, icon, items, children, kind = 'quiet', onOpen }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const entries = () => [...(list.current?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])];

  function place(): void {
    const [anchor, menu] = [button.current?.getBoundingClientRect(), list.current];
    if (!anchor || !menu) return;
    const { width, height } = menu.getBoundingClientRect();
    const below = anchor.bottom + 4 + height <= innerHeight || anchor.top < height;
    menu.style.top = `${below ? anchor.bottom + 4 : anchor.top - height - 4}px`;
    const start = getComputedStyle(menu).direction === 'rtl' ? anchor.right - width : anchor.left;
    menu.style.left = `${Math.max(8, Math.min(start, innerWidth - width - 8))}px`;
  }

  function onKeyDown(event: KeyboardEvent): void {
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      all[to]?.focus();
    } else if (event.key === 'Tab') list.current?.hidePopover();
    else if (event.key.length === 1) all.find(({ textContent }) => textContent?.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
  }

  /** Places the menu and moves the focus into it at once: the browser alone would report the opening later. */
  function toggle(event: MouseEvent): void {
    event.preventDefault();
    if (!list.current?.togglePopover({ source: button.current as HTMLElement })) return;
    onOpen?.();
    place();
    entries()[0]?.focus();
  }

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
      <div ref={list} id={id} popover="auto" role="menu" tabIndex={-1} class="menu" aria-label={label} onKeyDown={onKeyDown}>
        {items.map((item) => (
          // biome-ignore lint/a11y/useAriaPropsSupportedByRole: its role is menuitemradio where it has aria-checked
          <button
            key={item.label}
            type="button"
            role={item.isChecked === undefined ? 'menuitem' : 'menuitemradio'}
            aria-checked={item.isChecked}
            aria-disabled={item.isRefused ? 'true' : undefined}
            tabIndex={-1}
            class={`${item.isDanger ? 'danger' : ''} ${item.isApart ? 'apart' : ''}`}
            onClick={() => {
              list.current?.hidePopover();
              item.act();
            }}
          >
            {item.icon && <Icon of={item.icon} />}
            <span>{item.label}</span>
          </button>
        ))}
      </div>
    </>
  );
}
