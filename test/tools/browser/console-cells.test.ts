/** Cells of long tables: names of 45 characters are complete on a small desktop, and no element overflows on a phone. */
import { expect } from 'chai';
import { barriers } from './axe.ts';
import { loggedIn } from './demo.ts';
import { create, look } from './kind-pages.ts';
import { cutCells, misplaced } from './layout.ts';

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
    it(`of ${what} are not cut at 1280 pixels, and fit on a phone`, async () => {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(`${demo.url}${path}`);
      await page.getByText(text).first().waitFor();
      await look(page, `cells-${what.replace(' ', '-')}`);

      expect(await cutCells(page)).to.deep.equal([]);
      expect(await barriers(page)).to.deep.equal([]);
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await misplaced(page), `at ${width}`).to.deep.equal([]);
      }
    });
});
