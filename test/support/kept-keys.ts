import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, exportJWK } from 'jose';
import type { SigningKeys } from '../../src/keys/key-ring.ts';

const generate = promisify(generateKeyPair);
const directory = new URL('../../node_modules/.cache/test-keys/', import.meta.url);
let made = 0;

/**
 * Returns a key that is kept from run to run, because generating one takes a good part of a second. Each key of a process is another one.
 */
export async function keptRSAKey(): Promise<KeyObject> {
  made += 1;
  const file = new URL(`rsa-${made}.pem`, directory);
  const pem = await readFile(file, 'utf8').catch(() => undefined);
  if (pem !== undefined) return createPrivateKey(pem);
  const { privateKey } = await generate('rsa', { modulusLength: 2048 });
  await mkdir(directory, { recursive: true });
  const written = new URL(`${file.href}.${process.pid}`);
  await writeFile(written, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  await rename(written, file);
  return privateKey;
}

/** Creates keys as the service does, with a kept RSA key. */
export async function keptSigningKeys(): Promise<SigningKeys> {
  const pairs = { RS256: await keptRSAKey(), ES256: (await generate('ec', { namedCurve: 'P-256' })).privateKey };
  return Promise.all(
    Object.entries(pairs).map(async ([alg, key]) => {
      const jwk = await exportJWK(key);
      return { ...jwk, alg, use: 'sig', kid: await calculateJwkThumbprint(jwk) };
    }),
  );
}
