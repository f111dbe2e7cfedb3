/** A terminal, a log and a list that are open in the console when their right ends. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { loggedIn } from './demo.ts';
import { create, remove, untilAllowed } from './kind-pages.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const shop = `apis/${apiGroup}/v1/namespaces/shop`;

describe('a right that ends, in the console', () => {
  const { demo, page, visitor } = loggedIn('nobody', '/');

  const bind = async (name: string, rules: object[]) => {
    const subjects = [{ apiGroup, kind: 'User', name: demo.person('nobody').email }];
    await create(demo, `${shop}/roles`, { metadata: { name }, rules });
    await create(demo, `${shop}/rolebindings`, { metadata: { name }, roleRef: { apiGroup, kind: 'Role', name }, subjects });
  };
  const mayOpen = (subresource: string, verb: string) =>
    untilAllowed(demo, 'nobody', { verb, group: '', resource: 'pods', subresource, namespace: 'shop' });

  it('JIT-16 ends a terminal, a log and a list, and says why', async () => {
    // The pages ask again after the end, which is refused.
    visitor.accepted = /403|WebSocket/;
    await bind('sees', [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }]);
    await bind('enters', [{ apiGroups: [''], resources: ['pods/exec', 'pods/log'], verbs: ['get', 'create'] }]);
    await mayOpen('', 'watch');
    await mayOpen('exec', 'create');
    const [terminal, log, list] = [await visitor.openTab(), await visitor.openTab(), page];
    const open = (tab: Page, path: string) => tab.goto(`${demo.url}/r/core/v1/pods/ns/shop${path}`);
    const reason = (tab: Page, right: string) => tab.locator('main').getByText(right).first();
    await open(list, '');
    const pods = list.getByRole('link', { name: /^storefront-/ });
    const pod = (await pods.first().textContent()) ?? '';
    await open(log, `/${pod}/logs`);
    await log.getByText(/\d lines?\./).waitFor();
    await open(terminal, `/${pod}/terminal`);
    await terminal.getByRole('button', { name: /^Open sh/ }).click();
    const end = terminal.getByRole('button', { name: 'End', exact: true });
    await end.waitFor();
    expect([await reason(terminal, 'pods/exec').count(), await reason(log, 'pods/log').count()]).to.deep.equal([0, 0]);

    await remove(demo, `${shop}/rolebindings/enters`);
    await reason(terminal, 'pods/exec').waitFor();
    await end.waitFor({ state: 'detached' });
    await reason(log, 'pods/log').waitFor();

    await remove(demo, `${shop}/rolebindings/sees`);
    await reason(list, 'Needed: list pods -n shop').waitFor();
    expect(await pods.count()).to.equal(0);
  });
});
