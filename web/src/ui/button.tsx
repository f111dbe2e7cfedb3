import type { IconNode } from 'lucide';
import type { ComponentChildren } from 'preact';
import { href } from '../app/router';
import { Icon } from './icon';

interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconNode;
  kind?: 'main' | 'plain' | 'quiet' | 'danger';
  onClick?: (event: MouseEvent) => void;
  type?: 'button' | 'submit';
  isBusy?: boolean;
  isDisabled?: boolean;
  /** Greys the button. Pressing it still shows the reason, in a dialog. */
  isRefused?: boolean;
  /** Name of a button that shows an icon alone. */
  label?: string;
  form?: string;
  /** Takes the focus when its dialog opens. */
  isFocused?: boolean;
}

export function Button({
  children,
  icon,
  kind = 'plain',
  onClick,
  type = 'button',
  isBusy,
  isDisabled,
  isRefused,
  label,
  form,
  isFocused,
}: ButtonProps) {
  const inert = isDisabled === true || isBusy === true;
  return (
    <button
      type={type}
      class={`button ${kind}`}
      // Focus stays on the button while its action runs, which `disabled` would prevent.
      aria-disabled={inert || isRefused ? 'true' : undefined}
      aria-haspopup={isRefused ? 'dialog' : undefined}
      aria-busy={isBusy ? 'true' : undefined}
      aria-label={label}
      title={label}
      form={form}
      autofocus={isFocused}
      onClick={(event) => {
        if (inert) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {icon && <Icon of={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}

interface LinkButtonProps {
  to: string;
  children: ComponentChildren;
  icon?: IconNode;
  kind?: 'main' | 'plain' | 'quiet';
}

/** Link to another page in the shape of a button. */
export function LinkButton({ to, children, icon, kind = 'plain' }: LinkButtonProps) {
  return (
    <a class={`button ${kind}`} href={href(to)}>
      {icon && <Icon of={icon} />}
      <span>{children}</span>
    </a>
  );
}
