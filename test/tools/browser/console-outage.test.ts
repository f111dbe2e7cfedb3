/** Outages: each page of the route table tells of them in our words, keeps what it had, and recovers without a click. */
import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { demoBehindFront, type Front } from './front.ts';
import { patterns } from './route-pages.ts';

/** Addresses of the patterns that have parameters. A pattern without an address fails. */
const addresses: Readonly<Record<string, readonly string[]>> = {
  '/users/:name/:tab?': ['/users/JANE', '/users/JANE/roles', '/users/JANE/history', '/users/SELF/factors'],
  '/groups/:name/:tab?': ['/groups/dev'],
  '/bindings/:name': ['/bindings/oncall-view'],
  '/requests/:name': ['/requests/REQUEST'],
  // The demo has no agent that proposes a change: console-proposals.test.ts opens the page.
  '/proposals/:name': [],
  '/explorer/:tab?': ['/explorer', '/explorer/simulate', '/explorer/standing'],
  '/activity/:tab?/:id?': ['/activity', '/activity/recordings', '/activity/events/demo-24'],
  '/events/:namespace?': ['/events/shop'],
  '/r/:group/:version/:resource': ['/r/core/v1/nodes', '/r/core/v1/serviceaccounts'],
  '/r/:group/:version/:resource/ns/:namespace': ['/r/core/v1/pods/ns/shop'],
  '/r/:group/:version/:resource/ns/:namespace/:name/:tab?': [
    '/r/core/v1/configmaps/ns/atrium-system/console-logo',
    '/r/core/v1/configmaps/ns/atrium-system/console-logo/yaml',
    '/r/core/v1/pods/ns/shop/POD/logs',
    '/r/core/v1/pods/ns/shop/POD/events',
  ],
  '/r/:group/:version/:resource/:name/:tab?/:rest?': ['/r/core/v1/namespaces/shop'],
  '/new/:group/:version/:resource': ['/new/core/v1/namespaces'],
  '/new/:group/:version/:resource/ns/:namespace': ['/new/core/v1/configmaps/ns/shop'],
  '/x/:plugin/:path*': ['/x/cost-report'],
};

const paths = patterns.flatMap((pattern) => addresses[pattern] ?? [pattern]);

/** Tabs at a time: each has a browser's profile of its own, because those of one share six connections. */
const atATime = 10;
const groups = Array.from({ length: Math.ceil(paths.length / atATime) }, (_, index) => paths.slice(index * atATime, (index + 1) * atATime));

const ofBrowsers = /Failed to fetch|NetworkError|Load failed|dynamically imported|preload|Unexpected (?:end|token)/;

const seen = z.object({ shape: z.array(z.string()), text: z.string(), skeletons: z.number() });

/**
 * Reads what a page has: its headings, terms and labels in order, and its tables. Columns depend on the room that they have, and a part that
 * is loaded once it stays in view depends on the time.
 */
async function read(page: Page) {
  return seen.parse(
    await page.evaluate(`({
      shape: [...document.querySelectorAll('main :is(h1, h2, dt, label, tbody)')]
        .filter((it) => !it.closest('[data-once-in-view]'))
        .map((it) => it.rows ? 'rows: ' + (it.rows.length > 0) : it.firstChild?.textContent ?? ''),
      text: document.body.innerText,
      skeletons: document.querySelectorAll('main .skeleton').length,
    })`),
  );
}

const strip = (page: Page) => page.getByRole('alert').filter({ hasText: 'The service has not answered since' });
const isComplete = ({ shape, text, skeletons }: z.output<typeof seen>) =>
  skeletons === 0 && shape.length > 0 && !/cannot be reached|has not answered|…$/m.test(text);

/**
 * Waits for a complete page: the same in twenty reads, while no answer is missing. A page asks in steps: features, rights, objects. A busy
 * browser takes its time between an answer and the next question.
 */
async function complete(page: Page, front: Front): Promise<readonly string[]> {
  let [last, times] = ['', 0];
  const { shape } = await eventually(
    async () => ({ ...(await read(page)), pending: front.pending }),
    (now) => {
      const text = now.shape.join();
      times = text === last && isComplete(now) && now.pending === 0 ? times + 1 : 0;
      last = text;
      return times === 19;
    },
  );
  return shape;
}

/** Follows a link within the console, without a reload of the page. */
const follow = (page: Page, path: string) =>
  page.evaluate(`(() => {
    const link = Object.assign(document.createElement('a'), { href: ${JSON.stringify(path)} });
    document.body.append(link);
    link.click();
    link.remove();
  })()`);

const hasShape = (page: Page, shape: readonly string[]) =>
  eventually(
    () => read(page),
    (now) => isComplete(now) && now.shape.join() === shape.join(),
  );

const isTold = (page: Page) =>
  eventually(
    async () => ({ ...(await read(page)), told: await strip(page).count() }),
    ({ told, skeletons }) => told === 1 && skeletons === 0,
  );

const named = z.object({ metadata: z.object({ name: z.string() }) });
const listed = z.object({ items: z.array(named) });

describe('the console while the service is away', () => {
  const { browser, demo, front } = demoBehindFront({ users: 5 });
  let state: Awaited<ReturnType<BrowserContext['storageState']>>;
  const names: Record<string, string> = {};

  const nameIn = async (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json' };
    const answer: unknown = await (await fetch(`${demo.url}${path}`, { headers, ...init })).json();
    const { data = [] } = z.array(named).safeParse(listed.safeParse(answer).data?.items ?? [answer]);
    return data[0]?.metadata.name ?? expect.fail(JSON.stringify(answer));
  };
  before(async () => {
    const context = await browser.newContext();
    await demo.logIn(await context.newPage(), 'admin');
    state = await context.storageState();
    await context.close();
    names.JANE = await nameIn('/auth/v2/users?search=jane@example.com');
    names.SELF = await nameIn(`/auth/v2/users?search=${demo.person('admin').email}`);
    names.POD = await nameIn('/api/kubernetes/api/v1/namespaces/shop/pods?limit=1');
    const spec = {
      policy: 'shop-edit',
      roleRef: 'edit',
      scope: 'namespace',
      namespaces: ['shop'],
      durationSeconds: 900,
      reason: 'A look at the shop',
    };
    const headers = { authorization: `Bearer ${demo.person('viewer').token}`, 'content-type': 'application/json' };
    names.REQUEST = await nameIn('/auth/v1/accessrequests', { method: 'POST', headers, body: JSON.stringify(spec) });
  });

  const address = (path: string) => path.replace(/[A-Z]{3,}/, (word) => names[word] ?? word);
  /** Opens a page in a profile of its own, with nothing in its cache. */
  async function open(path: string): Promise<Page> {
    const page = await (await browser.newContext({ storageState: state })).newPage();
    await page.goto(`${demo.url}${address(path)}`);
    return page;
  }

  it('has an address for each route', () => {
    expect(patterns.length).to.be.greaterThan(25);
    expect(paths.filter((path) => path.includes(':'))).to.deep.equal([]);
  });

  for (const [index, group] of groups.entries()) {
    describe(`on ${group.length} pages, part ${index + 1}`, () => {
      const shapes = new Map<string, readonly string[]>();
      let pages: [string, Page][] = [];
      const eachPage = (act: (page: Page, path: string) => Promise<unknown>) =>
        Promise.all(
          pages.map(([path, page]) =>
            act(page, path).catch(async (error: unknown) => {
              throw new Error(`${path}: ${error}\n${(await read(page)).text}`);
            }),
          ),
        );
      const says = async (page: Page) => expect((await read(page)).text).not.to.match(ofBrowsers);
      const recovers = async (page: Page, path: string) => {
        await hasShape(page, shapes.get(path) ?? []);
        await strip(page).waitFor({ state: 'detached' });
      };
      after(() => Promise.all(pages.map(([, page]) => page.context().close())));

      it('keeps the content of a page, tells of the outage, and ends the notice when the service is back', async () => {
        pages = await Promise.all(group.map(async (path) => [path, await open(path)] as [string, Page]));
        await eachPage(async (page, path) => shapes.set(path, await complete(page, front)));
        front.answer('none');
        await eachPage(async (page, path) => {
          await page.evaluate("dispatchEvent(new Event('focus'))");
          await isTold(page);
          await says(page);
          expect((await read(page)).shape).to.deep.equal(shapes.get(path));
        });
        front.answer('all');
        await eachPage(recovers);
      });

      it('tells of an outage on a page that is opened meanwhile, and loads the page when the service is back', async () => {
        await eachPage(async (page) => {
          await page.goto(`${demo.url}/about`);
          await complete(page, front);
        });
        front.answer('files');
        await eachPage(async (page, path) => {
          await follow(page, address(path));
          await isTold(page);
          await says(page);
        });
        front.answer('all');
        await eachPage(recovers);
      });

      it('tells of a page whose code cannot be loaded, and loads it when the service is back', async () => {
        await Promise.all(pages.map(([, page]) => page.context().close()));
        pages = await Promise.all(group.map(async (path) => [path, await open('/about')] as [string, Page]));
        await eachPage((page) => complete(page, front));
        front.answer('none');
        await eachPage(async (page, path) => {
          await follow(page, address(path));
          await isTold(page);
          await says(page);
        });
        front.answer('all');
        await eachPage(recovers);
      });
    });
  }
});
