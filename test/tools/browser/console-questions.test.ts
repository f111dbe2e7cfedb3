/** The questions of docs/audit-questions.md: each is answered in the console within three clicks, and by the API and kubectl with the same rows. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { z } from 'zod';
import { Machine } from '../../service/kubectl-atrium/machine.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { expectAccessible } from './axe.ts';
import { loggedIn } from './demo.ts';
import { picture } from './picture.ts';

const maxClicks = 3;
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** Counts clicks. A word that is typed counts with the click that opens its field. */
class Clicks {
  count = 0;

  async on(target: Locator): Promise<void> {
    this.count += 1;
    await target.click();
  }

  async type(field: Locator, words: string): Promise<void> {
    this.count += 1;
    await field.fill(words);
    await field.press('Enter');
  }

  async choose(field: Locator, option: string): Promise<void> {
    this.count += 1;
    await field.selectOption(option);
  }
}

const answer = z.object({
  items: z.array(
    z.looseObject({
      auditID: z.string().optional(),
      requestReceivedTimestamp: z.string().optional(),
      actor: z.string().optional(),
      binding: z.object({ name: z.string() }).optional(),
      role: z.object({ name: z.string() }).optional(),
      use: z.object({ state: z.string() }).optional(),
    }),
  ),
});
type Item = z.output<typeof answer>['items'][number];

const idsOf = (items: readonly Item[]): string[] => items.map(({ auditID = '' }) => auditID);

interface Question {
  asks: string;
  /** Answers in the console. Returns the parameters of the API, which may depend on it, and the arguments of kubectl. */
  walk: (clicks: Clicks) => Promise<{ path: string; command: string[] }>;
  /** Rows that belong to the answer, by a text of each. */
  rowsOf?: (items: readonly Item[]) => string[];
}

describe('the questions of an auditor', () => {
  const { demo, page } = loggedIn('admin', '/');
  const kubectl = forSuite(
    () => Machine.create(),
    (machine) => machine.remove(),
  );
  const options = () => ['--issuer', `${demo.url}/identity`, '--no-browser'];
  before(async () => {
    const { email, password } = demo.person('admin');
    expect(await kubectl.logIn(options(), { person: { email, password } })).to.include({ code: 0 });
  });

  const menu = (name: string) => page.locator('nav.side').getByRole('link', { name, exact: true });
  const field = (name: string) => page.getByRole('combobox', { name, exact: true });
  const rows = (table = 'Activity') => page.getByRole('table', { name: table, exact: true }).getByRole('row');
  const says = (sentence: string, table?: string) => rows(table).filter({ hasText: sentence }).first();
  const askAPI = async (path: string): Promise<Item[]> => {
    const response = await fetch(`${demo.url}${path}`, { headers: { authorization: `Bearer ${demo.person('admin').token}` } });
    return answer.parse(await response.json()).items;
  };
  const askKubectl = async (command: readonly string[]): Promise<Item[]> => {
    const { code, stdout, stderr } = await kubectl.run(['audit', ...command, '-o', 'json', ...options()]);
    expect(code, stderr).to.equal(0);
    return answer.parse(JSON.parse(stdout)).items;
  };
  const pod = 'storefront-6c9d7b8f5-x2x4k';
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
  /** Returns the age of a time, in minutes. */
  const age = (time: number) => `${Math.floor((Date.now() - time) / minuteMs)}m`;

  /** Returns the begin of the hour in which the pod was deleted. */
  async function theHour(): Promise<number> {
    const [deletion] = await askAPI(`/auth/v1/audit?verb=delete&resource=pods&name=${pod}`);
    const time = Date.parse(deletion?.requestReceivedTimestamp ?? '');
    return time - (time % hourMs);
  }
  const between = (from: number, to: number) => `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
  /** The hour has the most events of those before this one, and the other bars with as many come later. */
  const bar = () =>
    page
      .getByRole('group', { name: 'Events over time' })
      .getByRole('button', { name: /: 9 events$/ })
      .first();
  const parameter = (name: string) => new URL(page.url()).searchParams.get(name) ?? '';

  const questions: readonly Question[] = [
    {
      asks: 'Who deleted this pod?',
      async walk(clicks) {
        await clicks.on(menu('Activity'));
        await clicks.type(field('Words of the event'), pod);
        await says(`jane@example.com deleted Pod ${pod} in shop`).waitFor();
        return {
          path: `verb=delete&resource=pods&namespace=shop&name=${pod}`,
          command: ['-n', 'shop', '--verb', 'delete', '--object', `pods./${pod}`],
        };
      },
    },
    {
      asks: 'Who scaled this deployment, and from how many?',
      async walk(clicks) {
        await clicks.on(menu('Deployments'));
        await clicks.on(page.getByRole('link', { name: 'storefront', exact: true }));
        await clicks.on(page.getByRole('link', { name: 'History', exact: true }));
        await says('jane@example.com scaled Deployment storefront from 2 to 3', 'History').waitFor();
        return {
          path: 'group=apps&resource=deployments&namespace=shop&name=storefront',
          command: ['-n', 'shop', '--object', 'deployments.apps/storefront'],
        };
      },
    },
    {
      asks: 'What did Noa do with `edit` on Tuesday?',
      async walk(clicks) {
        // The entry has the number of requests that wait.
        await clicks.on(page.locator('nav.side').getByRole('link', { name: 'Requests' }));
        await clicks.on(page.getByRole('navigation', { name: 'Requests' }).getByRole('link', { name: 'All' }));
        const request = page.getByRole('row').filter({ hasText: 'nobody@example.com' });
        await clicks.on(request.getByRole('link', { name: 'Actions with this access' }));
        await says('nobody@example.com restarted Deployment storefront in shop').waitFor();
        await says('nobody@example.com changed ConfigMap storefront in shop').waitFor();
        await says('nobody@example.com deleted Pod').waitFor();
        expect(await rows().count()).to.equal(4);
        const [from, to] = [Date.parse(parameter('from')), Date.parse(parameter('to'))];
        expect(new Date(from).getUTCDay()).to.equal(2);
        return {
          path: `actor=nobody@example.com&namespace=shop&${between(from, to)}`,
          command: ['--who', 'nobody@example.com', '-n', 'shop', '--since', age(from), '--until', age(to)],
        };
      },
    },
    {
      asks: 'Who read the Secret `db` in `payments` this month?',
      async walk(clicks) {
        await clicks.on(menu('Activity'));
        await clicks.type(field('Words of the event'), 'secrets db payments');
        await clicks.choose(page.getByRole('combobox', { name: 'Period' }), 'in the last 30 days');
        await says('admin@example.com read Secret db in payments').waitFor();
        await says('jane@example.com tried to read Secret db in payments').getByText('Refused (403)').waitFor();
        return {
          path: `resource=secrets&namespace=payments&name=db&verb=get&from=${ago(30 * dayMs)}`,
          command: ['-n', 'payments', '--verb', 'get', '--object', 'secrets./db', '--since', '30d'],
        };
      },
    },
    {
      asks: 'Who had a shell in `payments` today?',
      async walk(clicks) {
        await clicks.on(menu('Activity'));
        await clicks.type(field('Words of the event'), 'exec payments');
        await says('admin@example.com ran psql orders in Pod orders-db-0 in payments').waitFor();
        return {
          path: `subresource=exec&namespace=payments&from=${ago(dayMs)}`,
          command: ['-n', 'payments', '--subresource', 'exec', '--since', '1d'],
        };
      },
    },
    {
      asks: 'Who was refused what last night?',
      async walk(clicks) {
        await clicks.on(menu('Activity'));
        await clicks.choose(field('Outcome'), 'and it failed or was refused');
        await says('priya@example.com tried to read Secret storefront-tls in shop').getByText('Refused (403)').waitFor();
        await says('A login of User olaf@example.com failed').waitFor();
        return { path: `outcome=failure&from=${ago(12 * hourMs)}`, command: ['--failed', '--since', '12h'] };
      },
    },
    {
      asks: 'What happened in `shop` between 14:00 and 15:00?',
      async walk(clicks) {
        await clicks.on(menu('Activity'));
        await clicks.on(bar());
        await clicks.type(field('Namespace').last(), 'shop');
        await says('admin@example.com cordoned Node').waitFor({ state: 'detached' });
        await says(`jane@example.com deleted Pod ${pod} in shop`).waitFor();
        expect(await rows().count()).to.equal(9);
        const hour = await theHour();
        return {
          path: `namespace=shop&${between(hour, hour + hourMs)}`,
          command: ['-n', 'shop', '--since', age(hour), '--until', age(hour + hourMs)],
        };
      },
    },
    {
      asks: 'What was done with this access token?',
      async walk(clicks) {
        await clicks.on(menu('Access tokens'));
        await clicks.choose(page.getByRole('combobox', { name: 'Owner' }), 'all');
        const token = page.getByRole('row').filter({ hasText: 'Nightly report' });
        await clicks.on(token.getByRole('link', { name: 'Actions with this token' }));
        await says('manager@example.com labelled User li.wei@example.com').waitFor();
        return { path: `accessToken=${parameter('accessToken')}`, command: ['--token', parameter('accessToken')] };
      },
    },
    {
      asks: 'What was done in this session, and from which address?',
      async walk(clicks) {
        await clicks.on(menu('Sessions'));
        await clicks.on(page.getByRole('row').filter({ hasText: 'This device' }).getByRole('link', { name: 'Actions in this session' }));
        await says('admin@example.com read events of the audit').getByText('127.0.0.1').waitFor();
        return { path: `session=${parameter('session')}`, command: ['--session', parameter('session')] };
      },
    },
    {
      asks: 'Who was given a role, by whom, and for which reason?',
      async walk(clicks) {
        await clicks.on(menu('Activity'));
        await clicks.choose(field('Action'), 'granted a role');
        await clicks.on(says('viewer@example.com got the role edit').getByRole('link', { name: /^areq-/ }));
        await page.getByText('Old prices after the sale').waitFor();
        await says('Until the new prices are live', 'Timeline').getByText('admin@example.com').waitFor();
        return { path: 'action=grant&text=edit', command: ['--action', 'grant', '--text', 'edit'] };
      },
    },
    {
      asks: 'Who did the most in this hour, and was it a program?',
      async walk(clicks) {
        await clicks.on(menu('Activity'));
        await clicks.on(bar());
        await clicks.on(page.getByText('Most active users'));
        const first = rows('Most active users').nth(1);
        await first.getByText('system:serviceaccount:shop:deployer').waitFor();
        await first.getByText('Program (ServiceAccount)').waitFor();
        const hour = await theHour();
        return {
          path: `/counts?by=actor&${between(hour, hour + hourMs)}`,
          command: ['counts', '--by', 'actor', '--since', age(hour), '--until', age(hour + hourMs)],
        };
      },
      rowsOf: (items) => items.map(({ actor, kind, count }) => `${actor} ${kind} ${count}`),
    },
    {
      asks: 'Which cluster-admin bindings were not used for 90 days?',
      async walk(clicks) {
        await clicks.on(menu('Explorer'));
        await clicks.on(page.getByRole('link', { name: 'Standing access' }));
        const unused = says('migration', 'Standing access');
        await unused.getByText('cluster-admin').waitFor();
        await unused.getByText('Not seen since').waitFor();
        return { path: '/auth/v1/standingaccess?days=90', command: ['standing-access', '--days', '90'] };
      },
      rowsOf: (items) =>
        items
          .filter(({ role, use }) => role?.name === 'cluster-admin' && use?.state === 'NotSeen')
          .map(({ binding }) => binding?.name ?? ''),
    },
  ];

  it('are those of the page', async () => {
    const text = await readFile(new URL('../../../docs/audit-questions.md', import.meta.url), 'utf8');
    expect([...text.matchAll(/^\| \d+ \| “(.*?)” \|/gm)].map(([, asked]) => asked)).to.deep.equal(questions.map(({ asks }) => asks));
  });

  for (const [index, { asks, walk, rowsOf = idsOf }] of questions.entries())
    it(`${index + 1}: “${asks}” is answered in three clicks, and with the same rows by the API and kubectl`, async () => {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.emulateMedia({ colorScheme: 'light' });
      await page.goto(demo.url);
      const clicks = new Clicks();
      const { path, command } = await walk(clicks);
      expect(clicks.count).to.be.within(1, maxClicks);
      await picture(page, `question ${index + 1}`);
      await expectAccessible(page);
      const address = path.startsWith('/auth/') ? path : `/auth/v1/audit${path.startsWith('/') ? path : `?${path}`}`;
      const ask = async () => [await askAPI(address), await askKubectl(command)].map((items) => rowsOf(items).toSorted());
      // A question of the console itself may become an event meanwhile.
      const [byAPI, byKubectl] = await eventually(ask, ([one, other]) => one?.join() === other?.join());
      expect(byAPI).to.deep.equal(byKubectl).and.not.to.deep.equal([]);
    });
});
