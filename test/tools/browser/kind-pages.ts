/** Creates objects of the demo, and checks their pages. */

import { mkdir } from 'node:fs/promises';
import { expect } from 'chai';
import type { Page, Response } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import type { Demo } from './demo.ts';
import { framesToSettle } from './layout.ts';

async function send(demo: Demo, path: string, { method, type, body }: { method: string; type: string; body: object }): Promise<void> {
  const response = await fetch(`${demo.url}/api/kubernetes/${path}`, {
    ...{ method, body: JSON.stringify(body) },
    headers: { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': type },
  });
  expect(response.ok, await response.text()).to.equal(true);
}

/** Creates an object of the demo as its administrator. */
export const create = (demo: Demo, path: string, body: object) => send(demo, path, { method: 'POST', type: 'application/json', body });

/** Merges into an object of the demo, or into its status, as its administrator. */
export const merge = (demo: Demo, path: string, body: object) =>
  send(demo, path, { method: 'PATCH', type: 'application/merge-patch+json', body });

/** Deletes an object of the demo as its administrator. */
export const remove = (demo: Demo, path: string) => send(demo, path, { method: 'DELETE', type: 'application/json', body: {} });

/** Records the answers about an object: statuses of reads, and of watches with their resource version. */
export function answersAbout(page: Page, path: string) {
  const name = path.split('/').at(-1) ?? '';
  const [reads, watches]: [number[], [number, string | null][]] = [[], []];
  const note = (response: Response) => {
    const { pathname, searchParams } = new URL(response.url());
    if (pathname.endsWith(`/api/kubernetes/${path}`) && response.request().method() === 'GET') reads.push(response.status());
    if (searchParams.get('fieldSelector') === `metadata.name=${name}` && searchParams.has('watch'))
      watches.push([response.status(), searchParams.get('resourceVersion')]);
  };
  page.on('response', note);
  return { reads, watches, end: () => page.off('response', note) };
}

/** Returns elements that are wider than their parent when the page has settled, at widths from a phone to a small desktop. */
export async function tooWide(page: Page): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const width of [390, 768, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    found.push(
      ...(await page.evaluate<string[]>(`(async () => {
        let wide = [];
        for (let frame = 0; frame < ${framesToSettle}; frame++) {
          await new Promise((resolve) => requestAnimationFrame(resolve));
          wide = [...document.querySelectorAll('.kind-section *, .dialog *')]
            .filter((it) => it.getBoundingClientRect().right > it.parentElement.getBoundingClientRect().right + 1)
            .filter((it) => getComputedStyle(it.parentElement).overflowX === 'visible' && !['inline', 'contents'].includes(getComputedStyle(it.parentElement).display))
            .map((it) => ${width} + ' ' + it.outerHTML.slice(0, 160));
          if (frame > 1 && wide.length === 0) break;
        }
        return wide;
      })()`)),
    );
  }
  return found;
}

/** Takes pictures for a review in the directory that PAGES_SEEN names. */
export async function look(page: Page, name: string): Promise<void> {
  const directory = process.env.PAGES_SEEN;
  if (directory === undefined) return;
  await mkdir(directory, { recursive: true });
  for (const [scheme, width] of [
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
  ] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 1800 });
    await page.screenshot({ path: `${directory}/${name}-${scheme}-${width}.png`, fullPage: true });
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** Returns a section of the page of an object by its title. */
export const part = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

/** Takes pictures for a review, and requires a page without barriers and overflow. */
export async function inspect(page: Page, name: string): Promise<void> {
  await look(page, name);
  expect(await tooWide(page)).to.deep.equal([]);
  expect(await barriers(page)).to.deep.equal([]);
}

/** Waits until the service knows that the user of that role may do something: a watch reports new bindings to it. */
export async function untilAllowed(demo: Demo, role: Parameters<Demo['person']>[0], resourceAttributes: object): Promise<void> {
  const headers = { authorization: `Bearer ${demo.person(role).token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({
    ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' },
    spec: { resourceAttributes },
  });
  await eventually(
    async () => (await fetch(`${demo.url}/auth/v1/selfsubjectaccessreviews`, { method: 'POST', headers, body })).text(),
    (review) => review.includes('"allowed":true'),
  );
}
