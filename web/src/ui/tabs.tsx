import { useEffect, useRef } from 'preact/hooks';
import { href } from '../app/router';

interface TabsProps {
  label: string;
  tabs: readonly { id: string; label: string }[];
  current: string;
  to: (id: string) => string;
}

/** Parts of a page. They are links: each has an address, and opens in a tab of the browser like any other. */
export function Tabs({ label, tabs, current, to }: TabsProps) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => place.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [current]);
  return (
    <nav ref={place} class="tabs" aria-label={label}>
      {tabs.map(({ id, label: text }) => (
        <a key={id} href={href(to(id))} aria-current={id === current ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
