/** Keys that must survive a restart so that kubeconfigs and tokens stay valid: those of the certificate authority and of tokens. */

import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type Authority, createAuthority, isValidAuthority } from './certificates.ts';
import { TokenIssuer } from './tokens.ts';

export interface ClusterKeys {
  authority: Authority;
  tokens: TokenIssuer;
}

const kept = z.object({
  authority: z.object({ certificate: z.string(), key: z.string() }),
  token: z.looseObject({ kty: z.string(), crv: z.string(), x: z.string(), y: z.string(), d: z.string() }),
});

/** Returns the keys of the directory, or new ones, which are written to it. */
export async function clusterKeys(directory: string | undefined, now: () => Date): Promise<ClusterKeys> {
  const path = directory && join(directory, 'keys.json');
  const old = path ? await readKeys(path) : undefined;
  const authority = old && isValidAuthority(old.authority, now()) ? old.authority : await createAuthority(now());
  const tokens = await TokenIssuer.create({ now, ...(old && { privateJwk: old.token }) });
  if (path && authority !== old?.authority) {
    await writeFile(`${path}.new`, JSON.stringify({ authority, token: await tokens.exportKey() }), { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  return { authority, tokens };
}

async function readKeys(path: string): Promise<z.infer<typeof kept> | undefined> {
  try {
    return kept.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
