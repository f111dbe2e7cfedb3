/** Measures the pages of a console in Chromium. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { Traffic } from '../../test/tools/browser/traffic.ts';
import { cpuSeconds, residentMiB } from './process.ts';

/** A console with the paths and elements that the measurement needs. Expressions are evaluated in the page. */
export interface Console {
  name: string;
  url: string;
  pid: number;
  /** The login, as `BrowserContext.storageState` returns it. */
  storageState?: BrowserContextOptions['storageState'];
  overview: string;
  pods: string;
  /** A page whose menu shows the link to Pods. */
  from: string;
  /** Expression of the link to Pods in the menu. */
  menu: string;
  /** Expression of the link with the name of the pod in the first row. */
  first: string;
  /** Expression of the button that sorts by name. */
  sortByName: string;
  /** Shows the search field, and gives it the focus. */
  focusSearch: (page: Page) => Promise<unknown>;
  /** Expression that is true when the page of a pod shows its image. */
  isOpen: string;
}

export type Figures = Record<string, number>;

export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** A changed row and the pods that are found, by the index in the order of their names. */
export interface Sample {
  names: readonly string[];
  /** Changes what the row of a pod shows, to a text that no other row has. Resolves when the API server has stored it. */
  change: (name: string, text: string) => Promise<void>;
}

const quietMs = 1_500;
const clicks = 8;
const network = { offline: false, latency: 50, downloadThroughput: 1_250_000, uploadThroughput: 1_250_000 };

/** Waits in the page for the next frame in which a condition is true, for a minute at most. */
const untilFrame = (condition: string) => `
    for (const end = performance.now() + 60_000; !(${condition}); await new Promise((resolve) => requestAnimationFrame(resolve)))
      if (performance.now() > end) return NaN;`;

/** Evaluates an action in the page. Returns the milliseconds until a condition is true in a frame. */
const timed = (page: Page, action: string, condition: string): Promise<number> =>
  page.evaluate<number>(`(async () => {
    const begun = performance.now();
    ${action};
    ${untilFrame(condition)}
    return performance.now() - begun;
  })()`);

/** The policy of the page forbids `waitForFunction`, which evaluates in the page itself. A page may redirect while it starts. */
const until = (page: Page, condition: string): Promise<number> =>
  timed(page, '', condition).catch((error: unknown) => {
    if (String(error).includes('context was destroyed')) return until(page, condition);
    throw error;
  });

const contextOf = (browser: Browser, { storageState }: Console, options: BrowserContextOptions = {}): Promise<BrowserContext> =>
  browser.newContext({ viewport: { width: 1280, height: 800 }, ...options, ...(storageState && { storageState }) });

const hasRow = ({ first }: Console) => `${first}?.textContent.trim()`;

/** Requests, bytes and milliseconds of a page in an empty browser. */
async function cold(browser: Browser, console: Console, path: string, isComplete: string, limits?: { cpu: number }): Promise<Figures> {
  const context = await contextOf(browser, console, limits?.cpu ? { viewport: { width: 390, height: 844 } } : {});
  const page = await context.newPage();
  const traffic = await Traffic.of(page);
  if (limits) {
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', network);
    if (limits.cpu > 1) await session.send('Emulation.setCPUThrottlingRate', { rate: limits.cpu });
  }
  const begun = performance.now();
  await page.goto(`${console.url}${path}`, { waitUntil: 'commit' });
  await until(page, isComplete);
  const ms = performance.now() - begun;
  await sleep(quietMs);
  const figures = { ms, requests: traffic.sent.length, bytes: traffic.bytes };
  await context.close();
  return figures;
}

async function heapMB(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.enable');
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize / 1e6;
}

/** Milliseconds from the last key until only the pod of the name is shown. */
async function search(page: Page, console: Console, name: string): Promise<number> {
  await console.focusSearch(page);
  const found = page.evaluate<number>(`(async () => {
    let begun = 0;
    addEventListener('input', () => { begun = performance.now(); }, true);
    ${untilFrame(`begun > 0 && ${hasRow(console)} === '${name}'`)}
    return performance.now() - begun;
  })()`);
  await page.keyboard.type(name.slice(-5), { delay: 20 });
  return found;
}

/** Milliseconds from the stored change until its row shows it. */
async function follow(page: Page, name: string, { change }: Sample): Promise<number> {
  const text = `Changed${Math.floor(Math.random() * 1e6)}`;
  const seen = until(page, `document.body.innerText.includes('${text}')`).then(() => performance.now());
  await change(name, text);
  const stored = performance.now();
  return Math.max(0, ((await Promise.race([seen, sleep(20_000)])) ?? Number.NaN) - stored);
}

/** Returns one round of figures. */
export async function browse(browser: Browser, console: Console, sample: Sample): Promise<Figures> {
  const figures: Figures = {};
  const put = (name: string, of: Figures) => {
    for (const [key, value] of Object.entries(of)) figures[`${name}: ${key}`] = value;
  };
  put('overview cold', await cold(browser, console, console.overview, `document.querySelector("main h1, main h2, main td") != null`));
  put('Pods cold', await cold(browser, console, console.pods, `${hasRow(console)}`));
  put('Pods cold, 50 ms and 10 Mbit/s', await cold(browser, console, console.pods, `${hasRow(console)}`, { cpu: 1 }));
  put('Pods cold, phone', await cold(browser, console, console.pods, `${hasRow(console)}`, { cpu: 4 }));

  const context = await contextOf(browser, console);
  const page = await context.newPage();
  const tab = await context.newCDPSession(page);
  await tab.send('Performance.enable', { timeDomain: 'threadTicks' });
  /** Measures a step, and the milliseconds of the processor in the main thread of the tab and in the backend. */
  async function measure(act: () => Promise<number>): Promise<Figures> {
    const [inTab, inBackend] = [await threadMs(tab), await cpuSeconds(console.pid)];
    const ms = await act();
    await sleep(quietMs);
    return { ms, 'tab ms': (await threadMs(tab)) - inTab, 'backend ms': ((await cpuSeconds(console.pid)) - inBackend) * 1000 };
  }
  const step = async (name: string, act: () => Promise<number>) => put(name, await measure(act));
  const openFrom = async () => {
    await page.goto(`${console.url}${console.from}`);
    await until(page, `${console.menu} != null`);
    await sleep(quietMs);
  };
  const click = () => timed(page, `${console.menu}.click()`, hasRow(console));
  await openFrom();
  await step('first click on Pods', click);
  const back = async () => {
    await page.goBack();
    await until(page, `${console.menu} != null && !(${hasRow(console)})`);
    await sleep(quietMs);
  };
  const later: Figures[] = [];
  while (later.length < clicks) {
    await back();
    later.push(await measure(click));
  }
  const of = (key: string) => later.map((measured) => measured[key] ?? Number.NaN);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / clicks;
  // The kernel counts processor time in steps of 10 ms.
  put('click on Pods', { ms: median(of('ms')), 'tab ms': median(of('tab ms')), 'backend ms': mean(of('backend ms')) });
  const sort = () =>
    timed(page, `const before = ${hasRow(console)}; ${console.sortByName}.click()`, `${hasRow(console)} && ${hasRow(console)} !== before`);
  // The first click may change nothing, because the rows are in that order.
  await page.evaluate(`${console.sortByName}.click()`);
  await sleep(quietMs);
  await step('sort', sort);
  const name = sample.names[Math.floor(Math.random() * sample.names.length)] ?? '';
  await step('search', () => search(page, console, name));
  await step('follow a change', () => follow(page, name, sample));
  await step('open a pod', () => timed(page, `${console.first}.click()`, console.isOpen));
  figures['heap of the tab: MB'] = await heapMB(page);
  figures['resident: MiB'] = (await residentMiB(console.pid)).now;
  await context.close();
  return figures;
}

async function threadMs(tab: CDPSession): Promise<number> {
  const { metrics } = await tab.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000;
}
