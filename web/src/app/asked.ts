/** Questions whose fields stand in the address once they are asked: a reload asks again, and a link asks the same. */
import { type Signal, signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { query, setQuery } from './router';

interface Asked<N extends string> {
  fields: Readonly<Record<N, Signal<string>>>;
  /** True if the address that the page was opened with has the question. */
  isAsked: boolean;
  /** Writes the fields into the address. */
  keep: () => void;
}

/** @param defaults values of the fields that the address does not name */
export function useAsked<N extends string>(defaults: Readonly<Record<N, string>>): Asked<N> {
  return useMemo(() => {
    const given = query.peek();
    const names = Object.keys(defaults) as N[];
    const pairs = names.map((name) => [name, signal(given.get(name) ?? defaults[name])] as const);
    const fields = Object.fromEntries(pairs) as Record<N, Signal<string>>;
    return {
      fields,
      isAsked: names.some((name) => given.has(name)),
      keep: () => setQuery(Object.fromEntries(pairs.map(([name, { value }]) => [name, value]))),
    };
  }, []);
}
