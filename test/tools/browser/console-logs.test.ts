/** The log of a container in the console, over connections that behave badly. */
import { expect } from 'chai';
import type { WebSocketRoute } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { addKind, addPod, addPods, type StubPod } from './cluster-answers.ts';
import { loggedIn, press } from './demo.ts';
import { hold } from './traffic.ts';

describe('a log in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const sockets: WebSocketRoute[] = [];
  const log = () => page.locator('.log');
  /** Returns the nth connection, once the page has opened it. */
  const socket = async (index: number) => {
    const found = await eventually(
      () => sockets[index],
      (one) => one !== undefined,
    );
    if (found === undefined) throw new Error('the page has not connected');
    return found;
  };
  const at = (second: number) => `2026-11-26T10:00:0${second}.000000000Z`;

  before(async () => {
    await addPod(page, 'quiet');
    await page.routeWebSocket(/\/pods\/quiet\/log\?/, (route) => {
      sockets.push(route);
    });
  });
  beforeEach(async () => {
    sockets.length = 0;
    await page.goto(`${demo.url}/r/core/v1/pods/ns/default/quiet/logs`);
  });

  it('cases/21 shows the last state of a line with carriage returns, and a prompt without a newline', async () => {
    const stream = await socket(0);
    stream.send(Buffer.from(`${at(1)} start\n${at(2)} \r0% downloading`));
    for (const percent of ['5', '10', '15']) stream.send(Buffer.from(`\r${percent}% downloading`));
    await log().getByText('15% downloading').waitFor();
    expect(await log().textContent()).to.equal('start\n15% downloading');
    stream.send(Buffer.from(`\r\n${at(3)} Enter password: `));
    await log().getByText('Enter password:').waitFor();

    expect(await log().textContent()).to.equal('start\n15% downloading\nEnter password: ');
  });

  it('cases/09 reconnects after a lost connection, without duplicates, and ends at code 1000', async () => {
    const first = await socket(0);
    first.send(Buffer.from(`${at(1)} one\n${at(2)} two\n${at(3)} thr`));
    await page.getByText('3 lines.').waitFor();
    await first.close({ code: 1011, reason: 'timeout of a proxy' });
    await page.getByText('The connection was lost and is being restored.').waitFor();
    const second = await socket(1);

    expect(new URL(second.url()).searchParams.get('sinceTime')).to.equal(at(2));
    expect(new URL(second.url()).searchParams.has('tailLines')).to.equal(false);
    second.send(Buffer.from(`${at(2)} two\n${at(3)} three\n`));
    await log().getByText('three').waitFor();
    expect(await log().textContent()).to.equal('one\ntwo\nthree\n');
    expect(await page.getByText('The log has ended.').count()).to.equal(0);
    await second.close({ code: 1000 });
    await page.getByText('3 lines. The log has ended.').waitFor();
    expect(sockets).to.have.lengthOf(2);
  });
});

describe('a pod that has not started in the console', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const refusal = 'pod quiet does not have a host assigned';
  const open = (tab: string) => page.goto(`${demo.url}/r/core/v1/pods/ns/default/quiet/${tab}`);

  before(async () => {
    await addPod(page, 'quiet');
    await page.route(/\/pods\/quiet\/(?:log|exec)\?/, (route) =>
      route.fulfill({
        status: 400,
        json: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'BadRequest', code: 400, message: refusal },
      }),
    );
  });

  for (const [tab, act] of [
    ['logs', async () => undefined],
    ['terminal', () => page.getByRole('button', { name: 'Open sh in main' }).click()],
  ] as const)
    it(`shows the reason of the API server in its ${tab}`, async () => {
      await open(tab);
      await act();
      await page.getByText(refusal).waitFor();

      expect(await page.getByText(/could not be/).count()).to.equal(0);
      // The browser reports the refused requests.
      expect(visitor.takeComplaints()).to.not.deep.equal([]);
    });
});

describe('the log page of a workload in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const sockets = new Map<string, WebSocketRoute[]>();
  const labels = { app: 'cart' };
  const pod = (name: string, more: Partial<StubPod> = {}): StubPod => ({ name, labels, containers: ['web'], ...more });
  const at = (second: number) => `2026-11-26T10:00:${String(second).padStart(2, '0')}.000000000Z`;
  const rows = () => page.locator('.log-row');
  let replacePods: (next: readonly StubPod[]) => void;
  const socket = async (name: string, index = 0) => {
    const found = await eventually(
      () => sockets.get(name)?.[index],
      (one) => one !== undefined,
    );
    if (found === undefined) throw new Error(`the page has not connected to ${name}`);
    return found;
  };
  const send = async (name: string, ...lines: readonly [number, string][]) =>
    (await socket(name)).send(Buffer.from(lines.map(([second, text]) => `${at(second)} ${text}\n`).join('')));
  const open = (query = '') => page.goto(`${demo.url}/r/apps/v1/deployments/ns/default/cart/logs${query}`);

  before(async () => {
    const deployment = {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
      metadata: { name: 'cart', namespace: 'default', uid: 'u-cart', resourceVersion: '1' },
      spec: { selector: { matchLabels: labels } },
    };
    await addKind(
      page,
      { group: 'apps', resource: 'deployments', kind: 'Deployment' },
      {
        'GET /namespaces/default/deployments/cart': () => ({ body: JSON.stringify(deployment) }),
        // The watch reports no change.
        'GET /namespaces/default/deployments': () => ({ body: '' }),
      },
    );
    replacePods = await addPods(page, 'u-cart', [pod('cart-1'), pod('cart-2', { restarts: 1 })]);
    await page.routeWebSocket(/\/pods\/[^/]+\/log\?/, (route) => {
      const name = /pods\/([^/]+)\/log/.exec(route.url())?.[1] ?? '';
      sockets.set(name, [...(sockets.get(name) ?? []), route]);
    });
  });
  beforeEach(() => {
    sockets.clear();
    replacePods([pod('cart-1'), pod('cart-2', { restarts: 1 })]);
  });

  it('merges the lines of all pods by time, each with the name of its pod', async () => {
    await open();
    await send('cart-1', [1, 'one'], [4, 'four']);
    await rows().getByText('four').waitFor();
    await send('cart-2', [2, 'two'], [3, 'three'], [5, 'five']);
    await rows().getByText('five').waitFor();

    expect(await rows().allTextContents()).to.deep.equal([
      'cart-1 one\n',
      'cart-2 two\n',
      'cart-2 three\n',
      'cart-1 four\n',
      'cart-2 five\n',
    ]);
    expect(new URL((await socket('cart-2')).url()).searchParams.get('container')).to.equal('web');
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('follows the new pods of a rollout and keeps the lines of pods that are gone', async () => {
    await open();
    await send('cart-1', [1, 'old line']);
    await rows().getByText('old line').waitFor();
    replacePods([pod('cart-2'), pod('cart-3')]);
    await send('cart-3', [6, 'new line']);
    await rows().getByText('new line').waitFor();

    expect(await rows().allTextContents()).to.deep.equal(['cart-1 old line\n', 'cart-3 new line\n']);
    await page.locator('select.log-choice').selectOption({ label: 'cart-1 (gone)' });
    await page.getByText('One line matches.').waitFor();
    expect(await rows().allTextContents()).to.deep.equal(['cart-1 old line\n']);
  });

  it('continues the log of a restarted container, without duplicate lines', async () => {
    await open();
    await send('cart-1', [1, 'before']);
    await rows().getByText('before').waitFor();
    await (await socket('cart-1')).close({ code: 1000 });
    replacePods([pod('cart-1', { run: 'run-2', restarts: 1 }), pod('cart-2', { restarts: 1 })]);
    const second = await socket('cart-1', 1);
    expect(new URL(second.url()).searchParams.get('sinceTime')).to.equal(at(1));
    second.send(Buffer.from(`${at(1)} before\n${at(7)} after\n`));
    await rows().getByText('after').waitFor();

    expect(await rows().allTextContents()).to.deep.equal(['cart-1 before\n', 'cart-1 after\n']);
  });

  it('shows timestamps, opens JSON, and filters by words and by pod', async () => {
    await open();
    await send('cart-1', [1, '{"level":"error","code":5}'], [2, 'plain']);
    await rows().getByText('plain').waitFor();
    await page.getByLabel('Open JSON').check();
    await page.getByText('"level": "error",').waitFor();
    await page.getByLabel('Timestamps').check();
    await rows()
      .getByText(`${at(2)} plain`)
      .waitFor();
    await page.getByPlaceholder('Lines that contain').fill('PLAIN');
    await page.getByText('One line matches.').waitFor();

    expect(await rows().allTextContents()).to.deep.equal([`cart-1 ${at(2)} plain\n`]);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).to.equal('cart.log');
  });

  it('follows 20 containers and counts the ones that are left out', async () => {
    replacePods(Array.from({ length: 23 }, (_, index) => pod(`cart-${index}`)));
    await open();
    await page.getByText('The page follows 20 containers. 3 more are not shown: choose a pod or a container.').waitFor();
    await socket('cart-19');
    await eventually(
      () => sockets.size,
      (size) => size >= 20,
    );

    expect(sockets.size).to.equal(20);
    await page.locator('select.log-choice').selectOption('cart-22');
    await send('cart-22', [1, 'the last pod']);
    await rows().getByText('the last pod').waitFor();
  });

  it('reads the log of the previous run of a restarted container', async () => {
    await open();
    await page.getByLabel('Before its restart').check();
    const previous = await eventually(
      () => sockets.get('cart-2')?.find((one) => one.url().includes('previous=true')),
      (one) => one !== undefined,
    );

    expect(previous?.url()).not.to.include('follow=');
    expect(sockets.get('cart-1')?.filter((one) => one.url().includes('previous=true')) ?? []).to.deep.equal([]);
  });
});

describe('the log page of the living demo in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const rows = () => page.locator('.log-row');
  const podNames = async () => [...new Set((await rows().allTextContents()).map((line) => line.split(' ', 1)[0] ?? ''))];
  const hasPods = (count: number) =>
    eventually(
      () => podNames(),
      (names) => names.length >= count,
    );

  it('shows lines of all pods of a Deployment, and of the new pods of a rollout', async () => {
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront/logs`);
    const before = await hasPods(3);
    expect(before).to.have.lengthOf(3);
    await press(page, 'Restart');
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();

    const after = await hasPods(6);
    expect(after.filter((name) => before.includes(name))).to.have.lengthOf(3);
    for (const name of before) await page.locator('select.log-choice option', { hasText: `${name} (gone)` }).waitFor({ state: 'attached' });
  });

  const openTerminal = async () => {
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront`);
    await page
      .getByRole('table', { name: 'Pods' })
      .getByRole('link', { name: /^storefront-/ })
      .first()
      .click();
    await page.getByRole('link', { name: 'Terminal' }).click();
  };

  it('opens no shell after the tab is left while the terminal loads', async () => {
    await openTerminal();
    const code = await hold(page, 'GET', /\/assets\/terminal-\w+\.js$/);
    const shells: string[] = [];
    page.on('websocket', (socket) => socket.url().includes('/exec?') && shells.push(socket.url()));
    const loaded = page.waitForResponse(/\/assets\/terminal-\w+\.js$/);
    await page.getByRole('button', { name: /^Open sh in / }).click();
    await code.begun;
    await page.getByRole('link', { name: 'YAML' }).click();
    await page.getByRole('button', { name: 'Edit', exact: true }).waitFor();
    await code.release();
    await page.evaluate(`import('${(await loaded).url()}')`);
    expect(shells).to.deep.equal([]);
  });

  it('runs a command in the shell of a pod', async () => {
    await openTerminal();
    await page.getByRole('button', { name: /^Open sh in / }).click();
    const screen = page.locator('.terminal-host');
    await screen.getByText('/ #').first().waitFor();
    await page.keyboard.type('echo "seen by" $HOSTNAME\n');
    await screen
      .getByText(/seen by storefront-/)
      .first()
      .waitFor();
    await page.keyboard.type('exit 3\n');

    await page.getByText('The shell ended with exit status 3.').waitFor();
  });
});
