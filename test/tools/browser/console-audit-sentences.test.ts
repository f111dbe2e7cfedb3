/** Sentences of Activity about shells, their recordings, and debug containers. */
import { expect } from 'chai';
import { expectAccessible } from './axe.ts';
import { loggedIn } from './demo.ts';

const pod = { apiGroup: '', resource: 'pods', namespace: 'shop', name: 'cart-0' };
const recordings = { apiGroup: 'auth.platform.io', resource: 'recordings', namespace: 'shop', name: 'r1' };
const shell = { user: 'ada@example.com', pod: 'cart-0' };
const sh = { container: 'web', command: ['sh'], tty: true };

/** Members of events, and their sentences. */
const told: readonly (readonly [object, string])[] = [
  [
    { event: 'RecordingRead', verb: 'get', source: 'service', objectRef: recordings, shell },
    'bob@example.com read the recording of a shell of ada@example.com in Pod cart-0 in shop',
  ],
  [
    { event: 'RecordingDeleted', verb: 'delete', source: 'service', objectRef: recordings, shell },
    'bob@example.com deleted the recording of a shell of ada@example.com in Pod cart-0 in shop',
  ],
  [
    { event: 'RecordingDeleted', verb: 'delete', source: 'service', objectRef: recordings },
    'bob@example.com deleted the recording of a shell',
  ],
  [
    { event: 'RecordingExpired', verb: 'delete', source: 'service', objectRef: recordings, shell, user: undefined, reason: 'Age' },
    'The audit store removed the recording of a shell of ada@example.com in Pod cart-0 in shop, by its bounds',
  ],
  [{ connection: sh, stage: 'ResponseStarted' }, 'bob@example.com opened a shell in Pod cart-0 in shop'],
  [{ connection: sh, stage: 'ResponseComplete' }, 'The shell of bob@example.com in Pod cart-0 in shop ended'],
  [
    { verb: 'delete', objectRef: { apiGroup: '', resource: 'namespaces', namespace: 'cart-0', name: 'cart-0' } },
    'bob@example.com deleted Namespace cart-0',
  ],
  [
    { connection: sh, stage: 'ResponseComplete', reason: 'AccessLost' },
    'The shell of bob@example.com in Pod cart-0 in shop ended: the right no longer existed',
  ],
  [
    { connection: sh, stage: 'ResponseComplete', reason: 'RecordingNotStored', outcome: 'failure' },
    'The shell of bob@example.com in Pod cart-0 in shop ended: the recording could not be stored',
  ],
  [
    { connection: { command: ['df', '-h'] }, stage: 'ResponseComplete', reason: 'IdleTimeout' },
    'The command df -h of bob@example.com in Pod cart-0 in shop ended: the connection was idle for too long',
  ],
  [
    { objectRef: { ...pod, subresource: 'portforward' }, connection: { ports: ['80'] }, stage: 'ResponseComplete', reason: 'Shutdown' },
    'The connection of bob@example.com to Pod cart-0 in shop ended: Atrium was stopped',
  ],
  [
    { connection: { command: ['df', '-h'] }, stage: 'ResponseComplete', source: 'kube-apiserver' },
    'bob@example.com ran df -h in Pod cart-0 in shop',
  ],
  [
    {
      ...{ verb: 'patch', objectRef: { ...pod, subresource: 'ephemeralcontainers' } },
      connection: { container: 'debugger-x', image: 'busybox:1.37', command: ['sh', '-c', 'id'], tty: true },
    },
    'bob@example.com added the debug container debugger-x (busybox:1.37) to Pod cart-0 in shop, with the command sh -c id',
  ],
  [
    {
      ...{ verb: 'patch', objectRef: { ...pod, subresource: 'ephemeralcontainers' }, outcome: 'failure', responseStatus: { code: 403 } },
      connection: { container: 'debugger-x', image: 'busybox:1.37' },
    },
    'bob@example.com tried to add the debug container debugger-x (busybox:1.37) to Pod cart-0 in shop',
  ],
];

describe('sentences about shells on the page Activity', () => {
  const { demo, page } = loggedIn('admin', '/');
  const items = told.map(([parts], index) => ({
    ...{ auditID: `e${index}`, cluster: 'local', source: 'door', verb: 'create', user: { username: 'bob@example.com' }, sourceIPs: [] },
    ...{ objectRef: { ...pod, subresource: 'exec' }, outcome: 'success' },
    requestReceivedTimestamp: new Date(Date.now() - index * 1000).toISOString(),
    ...parts,
  }));

  before(() =>
    page.route('**/auth/v1/audit?*', (route) =>
      route.fulfill({ json: { apiVersion: 'auth.platform.io/v1', kind: 'AuditEventList', metadata: {}, scope: 'All', items } }),
    ),
  );

  for (const language of ['en', 'de', 'zh'])
    it(`name the shell, the reason of its end, and the debug container in ${language}`, async () => {
      await page.evaluate(`localStorage.setItem('atrium-language', '${language}')`);
      await page.goto(`${demo.url}/activity`);
      await page.locator('main .plain tbody tr').last().locator('td').nth(1).getByText('Pod').waitFor();
      const cells = await page.locator('main .plain tbody tr td:nth-child(2)').allTextContents();
      const lines = cells.map((text) => text.replaceAll(/\s+/g, ' ').trim());
      if (language === 'en') expect(lines).to.deep.equal(told.map(([, sentence]) => sentence));
      else expect(lines.filter((line) => !/cart-0|Shell/.test(line) || /\{\{|[\uE000\uE001]/.test(line))).to.deep.equal([]);
    });

  it('keep their words in order beside a command with marks of direction', async () => {
    const command = ['echo', '\u202etxt.exe'];
    items.push({ ...items[4], auditID: 'turned', stage: undefined, connection: { command } } as never);
    await page.evaluate("localStorage.setItem('atrium-language', 'en')");
    await page.goto(`${demo.url}/activity`);
    const cell = page.locator('main .plain tbody td:nth-child(2)').filter({ hasText: 'txt.exe' });
    const [shown, object] = [await cell.locator('code').boundingBox(), await cell.getByText('cart-0').boundingBox()];
    expect(object?.x).to.be.greaterThan((shown?.x ?? 0) + (shown?.width ?? 0));
  });

  it('lead to the access requests by which the user had a role', async () => {
    items.push({ ...items[4], auditID: 'last', accessRequests: ['ada-edit', 'ada-view'] } as never);
    await page.evaluate("localStorage.setItem('atrium-language', 'en')");
    await page.goto(`${demo.url}/activity`);
    const cell = page.getByRole('row').filter({ hasText: 'Access requests at that time: ada-edit, ada-view' });
    expect(await cell.getByRole('link', { name: 'ada-view' }).getAttribute('href')).to.equal('/requests/ada-view');
    await expectAccessible(page);
  });
});
