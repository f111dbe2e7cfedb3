/** Files of a plugin. Each is checked against its digest before use. */
import { base, type Schemas } from '../api/client';
import { isPage, noAnswer, problemOf } from '../api/problem';
import { type Manifest, readManifest } from './manifest';

export type Listed = Schemas['ListedConsolePlugin'];
type Files = readonly Schemas['ConsolePluginFile'][];

const seconds = 10;

/** Reason not to run a plugin that could be read. */
export class Refused extends Error {}

export interface Source {
  manifest: Manifest;
  /** Identifies a version of the whole plugin. */
  version: string;
  /** @throws Refused if no digest is known */
  digestOf(file: string): string;
  addressOf(file: string): URL;
}

/** @throws Refused, or an Error if it cannot be reached */
export async function sourceOf({ name, manifest: path, integrity }: Listed, files: Files, signal: AbortSignal): Promise<Source> {
  const address = new URL(path.replace(/^\//, ''), base);
  const text = await textAt(address, integrity, signal);
  const manifest = readManifest(text);
  const listed = new Map(files.filter(({ plugin }) => plugin === name).map(({ path: at, sha256 }) => [at, sha256]));
  const digestOf = (file: string): string => {
    // A pinned manifest must contain the digests of its files: the digests of the list would match any manifest.
    const known = manifest.integrity[file] ?? (integrity === undefined ? fromHex(listed.get(`/plugins/${name}/${file}`)) : undefined);
    if (known === undefined) throw new Refused(`plugin-manifest.json has no digest of ${file}`);
    return known;
  };
  const addressOf = (file: string): URL => {
    const found = new URL(file, address);
    if (!found.href.startsWith(new URL('.', address).href)) throw new Refused(`${file} is no file of the plugin`);
    const digest = toHex(digestOf(file));
    if (digest !== undefined) found.searchParams.set('v', digest.slice(0, 16));
    return found;
  };
  const version = [text, ...[...listed].map((entry) => entry.join('='))].join('\n');
  return { manifest, version, digestOf, addressOf };
}

/** The browser checks the bytes against the digest. @throws a Problem of an outage, or an Error that says what is wrong with the file */
export function textAt(address: URL, integrity: string | undefined, signal: AbortSignal): Promise<string> {
  const file = address.pathname.split('/').at(-1) ?? '';
  const read = async () => bodyOf(await send(address, integrity, signal), file);
  const isWrong = new Error(`${file} is not the one of ${integrity}`);
  return integrity === undefined ? read() : checked(read, { isWrong, reach: () => requireBody(address, file, signal), signal });
}

/**
 * Imports a module whose bytes have the digest. `modulepreload` makes the browser check them: it loads the module into the module map, from
 * which `import` takes it. After a wrong digest `import` would load the address unchecked, so it must not be called.
 */
export async function importChecked(source: Source, file: string, signal: AbortSignal): Promise<unknown> {
  const [address, integrity] = [source.addressOf(file), source.digestOf(file)];
  if (!/^sha(256|384|512)-[\w+/]+=*$/.test(integrity)) throw new Refused(`the digest of ${file} is none`);
  const isWrong = new Refused(`${file} is not the one of ${integrity}`);
  await checked(() => preload(address.href, integrity), { isWrong, reach: () => requireBody(address, file, signal), signal });
  signal.throwIfAborted();
  return import(/* @vite-ignore */ address.href);
}

async function preload(href: string, integrity: string): Promise<void> {
  const link = document.createElement('link');
  if (!link.relList.supports('modulepreload')) throw new Refused('this browser does not check the digests of modules');
  let timer: ReturnType<typeof setTimeout> | undefined;
  Object.assign(link, { rel: 'modulepreload', integrity, href });
  try {
    await new Promise<void>((resolve, reject) => {
      link.addEventListener('load', () => resolve());
      link.addEventListener('error', () => reject(noAnswer()));
      timer = setTimeout(() => reject(noAnswer()), seconds * 1000);
      document.head.append(link);
    });
  } finally {
    clearTimeout(timer);
    link.remove();
  }
}

interface Check {
  /** Says that the bytes have another digest. */
  isWrong: Error;
  /** Reads the file without its digest. */
  reach(): Promise<void>;
  signal: AbortSignal;
}

/**
 * Reads a file that the browser checks. A wrong digest and a lost connection are the same to a page: the digest is wrong if the bytes can be
 * read without it, and not a second time with it.
 */
async function checked<T>(read: () => Promise<T>, { isWrong, reach, signal }: Check): Promise<T> {
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Refused) throw error;
    await reach();
  }
  try {
    return await read();
  } catch {
    signal.throwIfAborted();
    throw isWrong;
  }
}

async function send(address: URL, integrity: string | undefined, signal: AbortSignal): Promise<Response> {
  try {
    const timeout = AbortSignal.timeout(seconds * 1000);
    return await fetch(address, { signal: AbortSignal.any([signal, timeout]), ...(integrity && { integrity }) });
  } catch {
    signal.throwIfAborted();
    throw noAnswer();
  }
}

/** @throws a Problem of an outage, or an Error that names the status */
async function bodyOf(response: Response, file: string): Promise<string> {
  if (response.ok && !isPage(response)) return response.text();
  const problem = await problemOf(response);
  throw problem.isOutage ? problem : new Error(`${file}: HTTP ${response.status}`);
}

async function requireBody(address: URL, file: string, signal: AbortSignal): Promise<void> {
  await bodyOf(await send(address, undefined, signal), file);
}

function fromHex(hex: string | undefined): string | undefined {
  const bytes = hex?.match(/../g)?.map((digits) => Number.parseInt(digits, 16));
  return bytes && `sha256-${btoa(String.fromCharCode(...bytes))}`;
}

function toHex(integrity: string): string | undefined {
  const base64 = /^sha256-([\w+/]{43}=)$/.exec(integrity)?.[1];
  return base64 && Array.from(atob(base64), (byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}
