import { query, setQuery } from './router';

export interface QueryChoiceProps {
  /** In the address of the page. */
  name: string;
  label: string;
  /** The choice of an address without the name. */
  any: string;
  options: readonly (readonly [value: string, label: string])[];
}

/** Choice that the address of the page keeps. */
export const QueryChoice = ({ name, label, any, options }: QueryChoiceProps) => (
  <label>
    <span class="hidden">{label}</span>
    <select value={query.value.get(name) ?? ''} onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}>
      <option value="">{any}</option>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  </label>
);
