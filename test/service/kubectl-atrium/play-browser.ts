/**
 * The browser of the tests: it opens the start address of a login, logs in at the issuer, and follows the redirect back.
 * Run as a program (`BROWSER="node play-browser.ts %s"`) it logs in as PLAY_EMAIL with PLAY_PASSWORD; issuers without a login page need
 * neither.
 */
import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import { Agent, type Dispatcher, fetch } from 'undici';
import { Browser } from '../identity/browser.ts';

export interface Player {
  /** User who logs in. Default: the issuer has no login page. */
  person?: { email: string; password: string };
  dispatcher?: Dispatcher;
}

export interface Played {
  status: number;
  headers: Headers;
  body: string;
}

/** Logs in up to the redirect of the issuer. @returns its address, and the cookie that belongs to it */
export async function begin(startURL: string, { person, dispatcher }: Player = {}): Promise<{ back: URL; cookie: string }> {
  const begun = await fetch(startURL, { redirect: 'manual' });
  const place = new URL(begun.headers.get('location') ?? '');
  const cookie = (begun.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
  if (person) {
    const browser = new Browser(place.origin, [place.origin], { ...(dispatcher && { dispatcher }) });
    const { url, body } = await browser.submit(await browser.get(place), person);
    if (url.pathname !== '/callback') throw new Error(`not sent back: ${url.href} ${body}`);
    return { back: url, cookie };
  }
  const agreed = await fetch(place, { redirect: 'manual', ...(dispatcher && { dispatcher }) });
  return { back: new URL(agreed.headers.get('location') ?? ''), cookie };
}

export async function visit(url: string | URL, headers: Record<string, string> = {}): Promise<Played> {
  const answer = await globalThis.fetch(url, { redirect: 'manual', headers });
  return { status: answer.status, headers: answer.headers, body: await answer.text() };
}

export async function play(startURL: string, player: Player = {}): Promise<Played> {
  const { back, cookie } = await begin(startURL, player);
  return visit(back, { cookie });
}

if (import.meta.main) {
  const { PLAY_EMAIL: email, PLAY_PASSWORD: password, PLAY_CA: caFile } = process.env;
  const dispatcher = caFile ? new Agent({ connect: { ca: [...getCACertificates('default'), readFileSync(caFile, 'utf8')] } }) : undefined;
  const { status, body } = await play(process.argv[2] ?? '', {
    ...(email && password && { person: { email, password } }),
    ...(dispatcher && { dispatcher }),
  });
  await dispatcher?.close();
  console.log(status, body);
}
