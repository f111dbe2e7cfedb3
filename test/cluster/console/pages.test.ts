/** Pages of the cluster, in both themes and on a phone: no barrier, no violation of the policy, no content beside the screen. */
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { barriers } from '../../tools/browser/axe.ts';
import { press } from '../../tools/browser/demo.ts';
import { startClusterConsole } from './support.ts';

const screens = [
  { name: 'light', screen: {} },
  { name: 'dark', screen: { isDark: true } },
  { name: 'phone', screen: { isPhone: true } },
];

interface Seen {
  what: string;
  path: string;
  /** Text that the complete page shows. */
  text: string;
  /** Button that is pressed before the checks. */
  button?: string;
}

const pages: readonly Seen[] = [
  { what: 'pods', path: '/r/core/v1/pods', text: 'report-27' },
  { what: 'all kinds', path: '/kinds', text: 'apiextensions.k8s.io' },
  { what: 'summary', path: '/r/apps/v1/deployments/ns/shop/web', text: 'MinimumReplicasAvailable' },
  { what: 'YAML', path: '/r/apps/v1/deployments/ns/shop/web/yaml', text: 'kind: Deployment' },
  { what: 'editor', path: '/r/core/v1/configmaps/ns/shop/settings/yaml', text: 'Review the changes', button: 'Edit' },
  { what: 'Events', path: '/r/core/v1/pods/ns/shop/web-2/events', text: '0/1 nodes are available' },
  { what: 'logs', path: '/r/core/v1/pods/ns/default/shell/logs', text: 'line 9 GET' },
  { what: 'terminal', path: '/r/core/v1/pods/ns/default/shell/terminal', text: 'leaves the terminal', button: 'Open sh in main' },
  { what: 'a new object', path: '/new/core/v1/configmaps/ns/shop', text: 'kind: ConfigMap' },
];

describe('the pages of the cluster on the console', () => {
  const suite = forSuite(startClusterConsole);
  before(() => suite.node.log('main', Array.from({ length: 10 }, (_, index) => `line ${index} GET /cart 200\n`).join('')));

  for (const { name, screen } of screens) {
    for (const { what, path, text, button } of pages) {
      it(`have no barrier, and keep to their policy: ${what}, ${name}`, async () => {
        const page = await suite.open('admin', path, screen);
        if (button !== undefined) await press(page, button);
        await page.getByRole('main').getByText(text).first().waitFor();

        expect(await barriers(page)).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.be.at.most(0);
      });
    }
  }
});
