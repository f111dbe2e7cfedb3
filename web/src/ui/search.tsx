import { useSignal } from '@preact/signals';
import { Search } from 'lucide';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { query, setQuery } from '../app/router';
import { Icon } from './icon';

const pauseMs = 60;

interface SearchFieldProps {
  label: string;
  /** The list needs no request: it is filtered after each key press without delay. */
  isPrompt?: boolean;
}

/** Finds in a list. The text is added to the address shortly after it was typed. */
export function SearchField({ label, isPrompt = false }: SearchFieldProps) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const asked = query.value.get('q') ?? '';
  // Typed text stays, even if the list is rendered again before the text is in the address.
  const typed = useSignal(asked);
  useEffect(() => () => clearTimeout(timer.current), []);
  useLayoutEffect(() => {
    if (typed.peek().trim() === asked) return;
    // The query was changed by the back button, or by a button that clears the filter.
    clearTimeout(timer.current);
    typed.value = asked;
  }, [asked]);
  return (
    <SearchInput
      label={label}
      value={typed.value}
      onInput={(value) => {
        typed.value = value;
        clearTimeout(timer.current);
        const look = () => setQuery({ q: value.trim() });
        if (isPrompt) look();
        else timer.current = setTimeout(look, pauseMs);
      }}
    />
  );
}

interface SearchInputProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
}

export const SearchInput = ({ label, value, onInput }: SearchInputProps) => (
  <label class="search">
    <span class="hidden">{label}</span>
    <Icon of={Search} />
    <input
      type="search"
      data-find
      placeholder={label}
      maxLength={128}
      spellcheck={false}
      value={value}
      onInput={({ currentTarget }) => onInput(currentTarget.value)}
    />
  </label>
);
