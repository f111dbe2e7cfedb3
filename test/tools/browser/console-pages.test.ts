/** Pages of the console, in both themes and on a phone: no barrier, no violation of the policy, no content beside the screen. */
import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import { z } from 'zod';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { demoInChromium } from './demo.ts';
import { misplaced } from './layout.ts';
import { picture } from './picture.ts';

const screens = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 780 } },
] as const;

interface Seen {
  what: string;
  role: string;
  path: string;
  /** Text that the complete page shows. */
  text: string;
}

const pages: readonly Seen[] = [
  { what: 'overview', role: 'manager', path: '/', text: 'Your identity' },
  { what: 'users', role: 'manager', path: '/users', text: 'Ada Admin' },
  { what: 'new user', role: 'manager', path: '/users/new', text: 'Create the user' },
  { what: 'one user', role: 'admin', path: '/users/JANE', text: 'Account' },
  { what: 'roles of a user', role: 'admin', path: '/users/JANE/roles', text: 'edit' },
  { what: 'second factors of a user', role: 'admin', path: '/users/JANE/factors', text: 'No second factor is set up.' },
  { what: 'one’s own second factors', role: 'manager', path: '/users/SELF/factors', text: 'Set up an authenticator app' },
  { what: 'history of a user', role: 'admin', path: '/users/JANE/history', text: 'History' },
  { what: 'groups', role: 'admin', path: '/groups', text: 'local:dev' },
  { what: 'one group', role: 'admin', path: '/groups/dev', text: 'viewer@example.com' },
  { what: 'bindings', role: 'admin', path: '/bindings', text: 'Active' },
  { what: 'one binding', role: 'admin', path: '/bindings/oncall-view', text: 'Rules of the role' },
  { what: 'new binding', role: 'admin', path: '/bindings/new', text: 'The whole cluster' },
  { what: 'bindings for a person who may not list them', role: 'nobody', path: '/bindings', text: 'You may not see this.' },
  { what: 'my access', role: 'nobody', path: '/access', text: 'No namespace.' },
  { what: 'sessions', role: 'viewer', path: '/sessions', text: 'This device' },
  { what: 'access tokens', role: 'manager', path: '/tokens', text: 'Nightly report' },
  { what: 'kubeconfig', role: 'manager', path: '/kubeconfig', text: 'Client certificate' },
  { what: 'plugins', role: 'viewer', path: '/extensions', text: 'Plugins that are enabled in this installation' },
  { what: 'about', role: 'viewer', path: '/about', text: 'OpenAPI document' },
  { what: 'all kinds of the cluster', role: 'nobody', path: '/kinds', text: 'apiextensions.k8s.io' },
  { what: 'a list of the cluster', role: 'admin', path: '/r/core/v1/configmaps/ns/atrium-system', text: 'console-logo' },
  { what: 'an object of the cluster', role: 'admin', path: '/r/core/v1/configmaps/ns/atrium-system/console-logo', text: 'UID' },
  { what: 'an object as YAML', role: 'admin', path: '/r/core/v1/configmaps/ns/atrium-system/console-logo/yaml', text: 'apiVersion' },
  { what: 'a page of a plugin', role: 'admin', path: '/x/cost-report', text: 'In all' },
  {
    what: 'a list of the cluster for a person who may not see it',
    role: 'nobody',
    path: '/r/core/v1/secrets',
    text: 'You may not see this.',
  },
  { what: 'a kind that the cluster does not have', role: 'admin', path: '/r/core/v1/widgets', text: 'The cluster has no such kind' },
  { what: 'users that nothing matches', role: 'manager', path: '/users?q=none-of-these', text: 'No entry matches the filter.' },
  { what: 'users for a person who may not list them', role: 'nobody', path: '/users', text: 'You may not see this.' },
  { what: 'a page that is not there', role: 'manager', path: '/nowhere', text: 'There is no page at this address' },
];

const listed = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

describe('the pages of the console', () => {
  const { browser, demo } = demoInChromium({ users: 15 });
  const contexts = new Map<string, Promise<{ context: BrowserContext; visitor: Visitor; page: Page }>>();

  /** Returns a page for each role and screen. The first call logs in. */
  function open(role: string, screen: (typeof screens)[number]) {
    const key = `${role} ${screen.name}`;
    const made = contexts.get(key) ?? visit(role, screen);
    contexts.set(key, made);
    return made;
  }
  async function visit(role: string, { colorScheme, viewport }: (typeof screens)[number]) {
    const context = await browser.newContext({ colorScheme, viewport });
    const visitor = new Visitor(context);
    const page = await visitor.openTab();
    await demo.logIn(page, role);
    return { context, visitor, page };
  }

  /** Replaces JANE and SELF by record names, which depend on addresses. */
  async function named(path: string, role: string): Promise<string> {
    const [place] = /JANE|SELF/.exec(path) ?? [];
    if (place === undefined) return path;
    const email = place === 'JANE' ? 'jane@example.com' : demo.person(role).email;
    const headers = { authorization: `Bearer ${demo.person('admin').token}` };
    const answer = await fetch(`${demo.url}/auth/v2/users?search=${encodeURIComponent(email)}`, { headers });
    return path.replace(place, listed.parse(await answer.json()).items[0]?.metadata.name ?? '');
  }

  /** Checks a page at a width between a phone and a desktop, and restores its width. */
  async function measuredAt(page: Page, width: number): Promise<void> {
    const before = page.viewportSize();
    if (before === null || before.width < width) return;
    await page.setViewportSize({ ...before, width });
    expect(await misplaced(page), `at ${width}`).to.deep.equal([]);
    await page.setViewportSize(before);
  }

  for (const screen of screens) {
    for (const { what, role, path, text } of pages) {
      it(`have no barrier, and keep to their policy: ${what}, ${screen.name}`, async () => {
        const { page, visitor } = await open(role, screen);
        await page.goto(`${demo.url}${await named(path, role)}`);
        await page.getByText(text).filter({ visible: true }).first().waitFor();

        expect(await barriers(page)).to.deep.equal([]);
        expect(await misplaced(page)).to.deep.equal([]);
        await measuredAt(page, 768);
        expect(visitor.complaints.splice(0)).to.deep.equal([]);
        await picture(page, `${what} ${screen.name}`);
      });
    }
  }

  it('have no barrier before the login', async () => {
    const visitor = new Visitor(await browser.newContext());
    const page = await visitor.openTab();
    await page.goto(`${demo.url}/`);
    await page.getByRole('button', { name: 'Log in' }).waitFor();

    expect(await barriers(page)).to.deep.equal([]);
    expect(visitor.complaints).to.deep.equal([]);
    await visitor.leave();
  });
});
