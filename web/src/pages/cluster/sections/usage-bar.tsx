interface UsageBarProps {
  /** The value as text. */
  label: string;
  value: number;
  /** The whole; 0 draws no bar. */
  of: number;
  /** The whole is no bound: nothing is wrong beyond it. */
  isSoft?: boolean;
  /** For a label that is a percentage itself. */
  isBare?: boolean;
}

/** Draws a share of a limit beside its figure. Percentages have no fraction, as in `kubectl describe` and `kubectl top`. */
export function UsageBar({ label, value, of, isSoft = false, isBare = false }: UsageBarProps) {
  const share = of > 0 ? value / of : 0;
  const level = isSoft ? '' : share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : '';
  return (
    <span class={`usage ${level}`}>
      <span>
        {label}
        {of > 0 && !isBare && <span class="muted"> · {Math.trunc(share * 100)} %</span>}
      </span>
      {of > 0 && (
        <svg aria-hidden="true" viewBox="0 0 100 4" preserveAspectRatio="none">
          <rect width="100" height="4" />
          <rect class="part" width={Math.min(share, 1) * 100} height="4" />
        </svg>
      )}
    </span>
  );
}
