import type { IconNode } from 'lucide';
import { h } from 'preact';

interface IconProps {
  of: IconNode;
  /** Name of an icon that stands alone; an icon beside a word is hidden from screen readers. */
  label?: string;
  size?: number;
}

export function Icon({ of, label, size = 16 }: IconProps) {
  return (
    // biome-ignore lint/a11y/noSvgWithoutTitle: hidden beside a word, else named by its label
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      {...(label === undefined ? { 'aria-hidden': 'true' } : { role: 'img', 'aria-label': label })}
    >
      {of.map(([tag, attributes]) => h(tag, attributes))}
    </svg>
  );
}
