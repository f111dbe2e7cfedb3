import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { pageScript, pageStyle } from './page.ts';

export const assetNames = ['page.css', 'page.js', 'swagger-ui.css', 'swagger-ui-bundle.js'] as const;
export type AssetName = (typeof assetNames)[number];

export interface Asset {
  type: string;
  etag: string;
  content: Buffer;
  compressed: Buffer;
}

const compress = promisify(gzip);

const read = (url: string) => readFile(fileURLToPath(url));

/** The package is among the installed ones, or in the folder that the build puts beside the program. */
const contents: Record<AssetName, () => Promise<Buffer>> = {
  'page.css': async () => Buffer.from(pageStyle),
  'page.js': async () => Buffer.from(pageScript),
  'swagger-ui.css': () => read(import.meta.resolve('swagger-ui-dist/swagger-ui.css')),
  'swagger-ui-bundle.js': () => read(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
};

const made = new Map<AssetName, Promise<Asset>>();

/** A file of the page. It is read when it is first asked for, which is never in most installations: 2.4 MB stay in memory then. */
export function assetOf(name: AssetName): Promise<Asset> {
  const known = made.get(name);
  if (known) return known;
  const reading = make(name);
  made.set(name, reading);
  // What failed may be there the next time.
  reading.catch(() => made.delete(name));
  return reading;
}

async function make(name: AssetName): Promise<Asset> {
  const content = await contents[name]();
  const type = name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';
  return { type, etag: hash('sha256', content).slice(0, 32), content, compressed: await compress(content, { level: 9 }) };
}
