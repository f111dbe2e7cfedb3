import { readFile } from 'node:fs/promises';
import { createSecureContext, getCACertificates, type SecureContext, type SecureVersion } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { atMost } from '../limits/bound.ts';

/** Keyed by the oldest TLS version and the text of the file. Issuers of an installation mostly have one authority. */
const contexts = new LRUCache<string, SecureContext>(atMost(16));

/**
 * Options of TLS connections that trust the system's authorities and those in the file. They are parsed once, and not for each
 * connection: that holds the event loop for 11 ms, as a system has hundreds of authorities. The file is read each time, as it may change.
 *
 * @param caFile PEM; undefined for the authorities of the system alone
 * @param minVersion of TLS, which a connection with such options no longer decides; default: that of the process
 * @throws Error if the file cannot be read
 */
export async function trustIn(caFile: string | undefined, minVersion?: SecureVersion): Promise<{ secureContext?: SecureContext }> {
  if (caFile === undefined) return {};
  const authorities = await readFile(caFile, 'utf8');
  const key = `${minVersion} ${authorities}`;
  const known = contexts.get(key);
  if (known !== undefined) return { secureContext: known };
  const secureContext = createSecureContext({ ca: [...getCACertificates('default'), authorities], minVersion });
  contexts.set(key, secureContext);
  return { secureContext };
}
