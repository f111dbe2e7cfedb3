import { Search } from 'lucide';
import { useEffect, useRef } from 'preact/hooks';
import { query, setQuery } from '../app/router';
import { Icon } from './icon';

const pauseMs = 200;

/** Finds in a list; what is looked for stands in the address. */
export function SearchField({ label }: { label: string }) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <label class="search">
      <span class="hidden">{label}</span>
      <Icon of={Search} />
      <input
        type="search"
        data-find
        placeholder={label}
        maxLength={128}
        spellcheck={false}
        value={query.value.get('q') ?? ''}
        onInput={({ currentTarget }) => {
          clearTimeout(timer.current);
          timer.current = setTimeout(() => setQuery({ q: currentTarget.value.trim() }), pauseMs);
        }}
      />
    </label>
  );
}
