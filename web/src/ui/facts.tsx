import type { ComponentChildren } from 'preact';

/** Names and values; names without a value are left out. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false)
        .map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}.`}>{value}</dd>])}
    </dl>
  );
}
