import { readFile } from 'node:fs/promises';
import { getCACertificates } from 'node:tls';

/** PEM of the system's authorities and of those in the file; undefined for those of the system alone. @throws Error if it cannot be read */
export async function certificateAuthorities(caFile: string | undefined): Promise<string[] | undefined> {
  return caFile === undefined ? undefined : [...getCACertificates('default'), await readFile(caFile, 'utf8')];
}
