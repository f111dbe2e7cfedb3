/** The console on a real cluster with a node, with users and objects. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { theConsole } from '../../support/static-directory.ts';
import { startChromium, Visitor } from '../../tools/browser/chromium.ts';
import { isLoggedIn, press, submitPassword } from '../../tools/browser/demo.ts';
import { startNode, type TestNode } from '../node.ts';
import { clusterObjects } from './objects.ts';

const password = 'a long enough passphrase';
const emailOf = { admin: 'admin@example.com', viewer: 'viewer@example.com', guest: 'guest@example.com' } as const;
type Role = keyof typeof emailOf;

interface Screen {
  isDark?: boolean;
  isPhone?: boolean;
}

export interface ClusterConsole {
  login: EmbeddedLogin;
  node: TestNode;
  url: string;
  /** Opens a page of the console as a user who logs in. */
  open(role: Role, path: string, screen?: Screen): Promise<Page>;
  /** Allows a browser message that belongs to the test. */
  allow(complaint: RegExp): void;
  /** @throws AssertionError if a page violated its policy or logged an error */
  stop(): Promise<void>;
}

/** Starts the console. The administrator has all rights, the viewer may read the namespace `shop`, and the guest has no rights. */
export async function startClusterConsole(): Promise<ClusterConsole> {
  const login = await startEmbeddedLogin({ emails: Object.values(emailOf), password, files: theConsole });
  const node = await startNode(login.admin, login.cluster.serving);
  await node.addPod('shell');
  await login.admin.apply(...clusterObjects, clusterRoleBinding('console-admin', 'cluster-admin', { kind: 'User', name: emailOf.admin }), {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'console-viewer', namespace: 'shop' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: emailOf.viewer }],
  });
  const browser = await startChromium();
  const visits = new Map<string, Promise<{ visitor: Visitor; page: Page }>>();
  const complaints: string[] = [];
  const allowed: RegExp[] = [];
  async function visit(role: Role, { isDark = false, isPhone = false }: Screen) {
    const context = await browser.newContext({
      ignoreHTTPSErrors: true,
      colorScheme: isDark ? 'dark' : 'light',
      viewport: isPhone ? { width: 390, height: 780 } : { width: 1280, height: 800 },
    });
    const visitor = new Visitor(context);
    const page = await visitor.openTab();
    await page.goto(login.url);
    await press(page, 'Log in');
    await submitPassword(page, { email: emailOf[role], password });
    await isLoggedIn(page, emailOf[role]);
    return { visitor, page };
  }
  return {
    login,
    node,
    url: login.url,
    async open(role, path, screen = {}) {
      const key = JSON.stringify([role, screen]);
      const made = visits.get(key) ?? visit(role, screen);
      visits.set(key, made);
      const { visitor, page } = await made;
      complaints.push(...visitor.complaints.splice(0));
      await page.goto(`${login.url}${path}`);
      return page;
    },
    allow(complaint) {
      allowed.push(complaint);
    },
    async stop() {
      for (const { visitor } of await Promise.all(visits.values())) complaints.push(...visitor.complaints);
      await browser.close();
      await node.stop();
      await login.stop();
      expect(complaints.filter((text) => !allowed.some((one) => one.test(text)))).to.deep.equal([]);
    },
  };
}
