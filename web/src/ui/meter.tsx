interface MeterProps {
  value: number;
  of: number;
}

/** Draws a part of a whole in the colours of the console, beside its figure. */
export const Meter = ({ value, of }: MeterProps) => (
  <span class="meter" aria-hidden="true">
    <span class={value < of ? 'part' : ''} style={{ inlineSize: `${(100 * Math.min(value, of)) / of}%` }} />
  </span>
);
