import type { Operation } from '../http/operation.ts';
import { reservedPath } from '../http/router.ts';

/**
 * Returns the static files that no request reaches, because an operation or the embedded issuer answers their path.
 *
 * @param files paths below the root, without the first slash
 * @param prefixes paths that are answered before any operation: `/identity`
 */
export function shadowedPaths(files: Iterable<string>, operations: readonly Operation[], prefixes: readonly string[]): string[] {
  const patterns = operations
    .filter(({ method }) => method === 'GET')
    .flatMap(({ paths }) => paths)
    .filter((path) => !path.startsWith('/{*'))
    .map(patternOf);
  const isTaken = (path: string) =>
    reservedPath.test(path) ||
    prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`)) ||
    patterns.some((pattern) => pattern.test(path));
  return [...files].filter((file) => isTaken(`/${file}`)).sort();
}

/** Returns the expression for a path in the router's syntax. */
const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(/:\w+/g, '[^/]+')}$`);
