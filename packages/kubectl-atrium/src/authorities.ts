import { readFileSync } from 'node:fs';
import tls from 'node:tls';
import type { Terminal } from './terminal.ts';

/** Node.js has it since 22.15. */
const { getCACertificates }: Partial<Pick<typeof tls, 'getCACertificates'>> = tls;

/**
 * Returns the authorities of Node.js with those of NODE_EXTRA_CA_CERTS, and those of the system. Before Node.js 22.15 a program cannot read
 * those of the system.
 */
export const trustedAuthorities = (environment: Terminal['environment']): readonly string[] =>
  getCACertificates === undefined
    ? [...tls.rootCertificates, ...extraAuthorities(environment)]
    : [...getCACertificates('default'), ...getCACertificates('system')];

/** Node.js itself ignores a file that it cannot read, with a warning. */
function extraAuthorities({ NODE_EXTRA_CA_CERTS: file }: Terminal['environment']): string[] {
  try {
    return file ? [readFileSync(file, 'utf8')] : [];
  } catch {
    return [];
  }
}
