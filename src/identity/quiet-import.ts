/**
 * oidc-provider writes a line about runtimes that it does not know as LTS, while it is loaded and past the log. Ours is pinned and tested.
 * Imported before it, this keeps that line back, and no other.
 */
const { warn } = console;

console.warn = (...data: unknown[]) => {
  if (!String(data[0]).includes('oidc-provider WARNING: Unsupported runtime')) warn(...data);
};

export function restoreWarnings(): void {
  console.warn = warn;
}
