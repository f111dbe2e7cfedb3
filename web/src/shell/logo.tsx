import { brandLogo } from '../app/brand';

/** The logo of the installation, or that of `mark.svg`, which needs no request here. */
export function Logo({ size }: { size: number }) {
  const logo = brandLogo();
  if (logo) return <img src={logo} alt="" width={size} height={size} />;
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#2f5bd8" />
      <path d="M7 26V15a9 9 0 0 1 18 0v11z" fill="#fff" />
      <path d="M12 26V15.5a4 4 0 0 1 8 0V26z" fill="#2f5bd8" />
    </svg>
  );
}
