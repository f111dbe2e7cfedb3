/**
 * Cells of long tables: names of 45 characters are complete on a small desktop without scrolling sideways, and no element overflows on a
 * phone.
 */
import { expect } from 'chai';
import { barriers } from './axe.ts';
import { loggedIn, press } from './demo.ts';
import { create, look } from './kind-pages.ts';
import { cutCells, misplaced, scrolledTables } from './layout.ts';

const named = (prefix: string) => `${prefix}-with-a-name-of`.padEnd(45, '-45-characters');
const namespace = 'shop';
const metadata = (prefix: string) => ({ name: named(prefix), namespace, labels: { app: named(prefix) } });
const podSpec = (prefix: string) => ({ containers: [{ name: 'main', image: `registry.example.com/team/${prefix}:1.27.4` }] });

const made: readonly (readonly [path: string, body: object])[] = [
  [
    `api/v1/namespaces/${namespace}/pods`,
    { ...{ apiVersion: 'v1', kind: 'Pod', metadata: metadata('pod') }, spec: { ...podSpec('pod'), nodeName: named('node') } },
  ],
  [
    `apis/apps/v1/namespaces/${namespace}/deployments`,
    {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: metadata('deployment') },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'long' } },
        template: { metadata: { labels: { app: 'long' } }, spec: podSpec('web') },
      },
    },
  ],
  [
    `api/v1/nodes`,
    { ...{ apiVersion: 'v1', kind: 'Node', metadata: { name: named('node'), labels: { 'node-role.kubernetes.io/control-plane': '' } } } },
  ],
  [
    `api/v1/namespaces/${namespace}/services`,
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: metadata('service') },
      spec: {
        selector: { app: 'long' },
        ports: [
          { name: 'http', port: 80 },
          { name: 'metrics', port: 9090 },
        ],
      },
    },
  ],
  [`api/v1/namespaces/${namespace}/configmaps`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('configmap'), data: { a: 'b' } }],
];

const lists = [
  ['pods', '/r/core/v1/pods', named('pod')],
  ['deployments', '/r/apps/v1/deployments', named('deployment')],
  ['nodes', '/r/core/v1/nodes', named('node')],
  ['services', '/r/core/v1/services', named('service')],
  ['configmaps', '/r/core/v1/configmaps', named('configmap')],
  ['events', '/r/core/v1/events', 'Scheduled'],
  ['recent events', '/events', 'Scheduled'],
  ['users', '/users', 'nobody@example.com'],
] as const;

describe('cells of lists', () => {
  const { demo, page } = loggedIn('admin', '/');
  before(async () => {
    for (const [path, body] of made) await create(demo, path, body);
  });

  for (const [what, path, text] of lists)
    it(`are not cut at 1280 pixels, and fit on a phone: ${what}`, async () => {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(`${demo.url}${path}`);
      await page.getByText(text).first().waitFor();
      expect(await scrolledTables(page)).to.deep.equal([]);
      await look(page, `cells-${what.replace(' ', '-')}`);

      expect((await cutCells(page)).filter((cell) => cell.length <= 45)).to.deep.equal([]);
      expect(await barriers(page)).to.deep.equal([]);
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await misplaced(page), `at ${width}`).to.deep.equal([]);
      }
    });

  it('show the last login of users at 1280 pixels, before the source', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${demo.url}/users`);
    await page.getByRole('columnheader', { name: 'Last login' }).waitFor();
    const headings = (await page.getByRole('columnheader').allInnerTexts()).map((text) => text.trim());
    expect(headings.slice(0, 5)).to.deep.equal(['', 'Name', 'E-mail', 'State', 'Last login']);
  });

  for (const [path, last] of [
    ['/users', 'Source'],
    ['/r/core/v1/persistentvolumes', 'VolumeAttributesClass'],
  ] as const)
    it(`are shown at 1280 pixels below titles of two lines: ${path}`, async () => {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(`${demo.url}${path}`);
      await page.getByRole('columnheader', { name: last, exact: true }).waitFor();
      await page.locator('table.folded').waitFor();
      expect(await page.locator('.hidden-columns').count()).to.equal(0);
      const titles = await page.evaluate<{ text: string; lines: number; isCut: boolean }[]>(`
        [...document.querySelectorAll('table.folded thead th :is(.title, button)')].map((title) => ({
          text: title.textContent,
          lines: Math.round(title.getBoundingClientRect().height / 18),
          isCut: title.closest('th').scrollWidth > title.closest('th').clientWidth,
        }))`);
      expect(titles.some(({ lines }) => lines === 2)).to.equal(true);
      expect(titles.filter(({ lines, isCut }) => lines > 2 || isCut)).to.deep.equal([]);
    });

  for (const path of ['/users', '/r/core/v1/persistentvolumes'])
    it(`are all shown at 1280 pixels in German: ${path}`, async () => {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.evaluate("localStorage.setItem('atrium-language', 'de')");
      await page.goto(`${demo.url}${path}`);
      await page.evaluate("localStorage.setItem('atrium-language', 'en')");
      await page.locator('table.folded tbody a').first().waitFor();
      expect(await scrolledTables(page)).to.deep.equal([]);
      expect(await page.locator('.hidden-columns').count()).to.equal(0);
    });

  it('are shown on request if their column has no room', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${demo.url}/r/core/v1/pods`);
    const node = page.getByRole('cell', { name: named('node'), exact: true }).first();
    await page.getByText('Hidden for lack of room: Node').waitFor();
    expect(await node.count()).to.equal(0);
    await press(page, 'Show all columns');
    await node.waitFor();
    await press(page, 'Fit the columns to the page');
    await node.waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 1900, height: 900 });
    await node.waitFor();
  });

  it('show their whole text under the pointer if three long names cut them', async () => {
    const [name, inNamespace] = [named('placed'), named('namespace')];
    await create(demo, 'api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: inNamespace } });
    await create(demo, `api/v1/namespaces/${inNamespace}/pods`, {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: inNamespace } },
      spec: { ...podSpec('placed'), nodeName: named('node') },
    });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${demo.url}/r/core/v1/pods`);
    const cell = page.getByRole('cell', { name: inNamespace, exact: true });
    await cell.hover();
    await look(page, 'cells-of-three-names');
    expect(await scrolledTables(page)).to.deep.equal([]);
    expect(await cell.getAttribute('title')).to.equal(inNamespace);
  });
});
