/**
 * Measures the console beside Headlamp on one kube-apiserver with 5,000 pods, in turns. Headlamp is left out without its folder, which has
 * `backend/headlamp-server` and `frontend/build`.
 *
 * node bench/console.ts [--pods 5000] [--rounds 3] [--before FOLDER] [--headlamp FOLDER] [--hold]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import type { Browser } from 'playwright-core';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { aUser } from '../test/service/users/a-user.ts';
import { cheapPasswords } from '../test/support/cheap-passwords.ts';
import { ClusterAdmin } from '../test/support/cluster-admin.ts';
import { freePort } from '../test/support/free-port.ts';
import { clusterRoleBinding } from '../test/support/grants.ts';
import { addLocalUser } from '../test/support/local-user.ts';
import { startChromium } from '../test/tools/browser/chromium.ts';
import { isLoggedIn, press, submitPassword } from '../test/tools/browser/demo.ts';
import { browse, type Console, type Figures, median, type Sample } from './peers/browse.ts';
import { fillPods, podName, podNamespace } from './peers/pods.ts';
import { Measured } from './peers/process.ts';
import { atrium, type ServerContext, type Target } from './peers/servers.ts';

const { values: given } = parseArgs({
  options: {
    pods: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '3' },
    before: { type: 'string' },
    headlamp: { type: 'string' },
    /** Prints the addresses and waits, in place of measuring. */
    hold: { type: 'boolean', default: false },
  },
});
const podCount = Number(given.pods);
const ours = new URL('..', import.meta.url).pathname;
const [email, password] = ['admin@example.com', 'a long enough passphrase'];

const directory = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
const plane = await startControlPlane({ people: ['admin'] });
const config = new KubeConfig();
config.loadFromFile(plane.kubeconfig);
const adminToken = config.getCurrentUser()?.token ?? '';
const admin = new ClusterAdmin(plane, adminToken);
const started: { end(): Promise<void> }[] = [];
const browser = await startChromium();
try {
  await admin.install();
  for (const file of ['impersonation.yaml', 'workload-lists.yaml']) await admin.applyFile(file);
  await admin.apply(clusterRoleBinding('console-admin', 'cluster-admin', { kind: 'User', name: email }));
  await addLocalUser(admin, aUser(email), await cheapPasswords().hash(password));
  await fillPods(admin, plane.etcdURL, podCount);
  const consoles = [
    ...(given.headlamp ? [await headlamp(given.headlamp)] : []),
    ...(given.before ? await bothOf('Atrium before', given.before) : []),
    ...(await bothOf('Atrium', ours)),
  ];
  if (given.hold) {
    // Playwright ends the process by itself on Ctrl-C, while a browser runs.
    await browser.close();
    for (const { name, url } of consoles) console.log(`${name}: ${url}`);
    console.log(`kubectl --kubeconfig ${plane.kubeconfig}; ${email}: ${password}`);
    await new Promise((resolve) => process.once('SIGINT', resolve));
  } else print(consoles, await measure(consoles));
} finally {
  await browser.close();
  for (const one of started) await one.end();
  await admin.close();
  await plane.stop();
  await rm(directory, { recursive: true, force: true });
}

async function measure(consoles: readonly Console[]): Promise<Map<string, Figures[]>> {
  const rounds = new Map<string, Figures[]>(consoles.map(({ name }) => [name, []]));
  for (let round = 0; round < Number(given.rounds); round += 1)
    for (const one of consoles) {
      rounds.get(one.name)?.push(await browse(browser, one, sample()));
      console.error(`round ${round + 1}: ${one.name}`);
    }
  return rounds;
}

function sample(): Sample {
  return {
    // The console reads 500 objects at first if the service does not list the kind.
    names: Array.from({ length: 500 }, (_, index) => podName(index)),
    async change(name, text) {
      const path = `/api/v1/namespaces/${podNamespace(Number(name.slice(-5)))}/pods/${name}/status`;
      const type = { 'content-type': 'application/merge-patch+json' };
      const { status } = await admin.call('PATCH', path, { status: { reason: text } }, type);
      if (status !== 200) throw new Error(`${path}: ${status}`);
    },
  };
}

/** Starts Atrium twice: its console lists pods by the API server, and by the service (`lists.resources`). */
async function bothOf(name: string, folder: string): Promise<Console[]> {
  const context: ServerContext = {
    ...{ directory, plane, adminToken, isDrawn: false },
    files: join(folder, 'web/dist'),
    serviceToken: await admin.serviceToken(),
  };
  const one = async (label: string, settings: Record<string, unknown>) => {
    const target = await atrium(label.replaceAll(/\W+/g, '-'), join(folder, 'dist'), context, settings);
    started.push(target);
    return atriumConsole(label, target, browser);
  };
  return [await one(`${name}, lists of kube-apiserver`, {}), await one(`${name}, lists.preset`, { lists: { preset: 'workloads' } })];
}

async function atriumConsole(name: string, { url, pid }: Target, within: Browser): Promise<Console> {
  const context = await within.newContext();
  const page = await context.newPage();
  await page.goto(`${url}/r/core/v1/pods`);
  await press(page, 'Log in');
  await submitPassword(page, { email, password });
  await isLoggedIn(page, email);
  // The browser remembers which kinds the service lists.
  await page.locator('.table td a').first().waitFor();
  const storageState = await context.storageState();
  await context.close();
  const header = `[...document.querySelectorAll('.table th button')].find(({ textContent }) => textContent === 'Name')`;
  return {
    ...{ name, url, pid, storageState, overview: '/', from: '/', pods: '/r/core/v1/pods' },
    menu: `document.querySelector('nav.side a[href$="/r/core/v1/pods"]')`,
    first: `document.querySelector('.table tbody td a[href*="/storefront-"]')`,
    sortByName: header,
    focusSearch: (tab) => tab.getByRole('searchbox').first().click(),
    isOpen: `document.querySelector('.kind-section')?.parentElement.textContent.includes('registry.example.com/shop/storefront')`,
  };
}

async function headlamp(folder: string): Promise<Console> {
  const port = await freePort();
  const plugins = await mkdtemp(join(directory, 'plugins-'));
  const program = await Measured.start(
    [
      join(folder, 'backend/headlamp-server'),
      `-kubeconfig=${plane.kubeconfig}`,
      `-html-static-dir=${join(folder, 'frontend/build')}`,
      `-plugins-dir=${plugins}`,
      `-port=${port}`,
      '-listen-addr=127.0.0.1',
    ],
    { logFile: join(directory, 'headlamp.log') },
  );
  started.push(program);
  const url = `http://127.0.0.1:${port}`;
  await program.until(url);
  return {
    ...{ name: 'Headlamp', url, pid: program.pid, overview: '/c/admin', from: '/c/admin/deployments', pods: '/c/admin/pods' },
    menu: `document.querySelector('nav a[href$="/c/admin/pods"]')`,
    first: `document.querySelector('table tbody td a[href*="/pods/"]')`,
    sortByName: `[...document.querySelectorAll('th')].find(({ textContent }) => textContent.startsWith('Name'))?.querySelector('[role=button], .MuiTableSortLabel-root')`,
    async focusSearch(page) {
      await page.getByRole('button', { name: 'Show/Hide search' }).click();
      await page.locator('main input[placeholder="Search"]').click();
    },
    // The pod opens in a drawer beside the list.
    isOpen: `document.body.textContent.includes('registry.example.com/shop/storefront')`,
  };
}

/** Prints the median of the rounds, for each figure and console. */
function print(consoles: readonly Console[], rounds: ReadonlyMap<string, readonly Figures[]>): void {
  const names = consoles.map(({ name }) => name);
  const keys = Object.keys(rounds.get(names[0] ?? '')?.[0] ?? {});
  console.log(`| | ${names.join(' | ')} |\n|---|${'--:|'.repeat(names.length)}`);
  for (const key of keys) {
    const cells = names.map((name) => {
      const value = median((rounds.get(name) ?? []).map((figures) => figures[key] ?? Number.NaN));
      return value.toFixed(value < 10 ? 1 : 0);
    });
    console.log(`| ${key} | ${cells.join(' | ')} |`);
  }
}
