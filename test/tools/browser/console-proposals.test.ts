/** Changes that agents propose: the difference, the answer of the user, and the states, with answers of the test in place of the service. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers, expectAccessible } from './axe.ts';
import { loggedIn, press } from './demo.ts';
import { misplaced } from './layout.ts';

const inMs = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();
const cart = (resourceVersion: string, memory: string) => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'cart', namespace: 'shop', resourceVersion, uid: 'u-cart' } },
  spec: { replicas: 2, template: { spec: { containers: [{ name: 'cart', resources: { limits: { memory } } }] } } },
});
const change = (resourceVersion: string, memory: string) => ({
  ...{ before: cart(resourceVersion, memory), after: cart(resourceVersion, '256Mi'), resourceVersion },
});
const aProposal = (differing: object = {}) => ({
  ...{ apiVersion: 'auth.platform.io/v1', kind: 'ChangeProposal', cluster: 'local' },
  metadata: { name: 'p-1', creationTimestamp: inMs(-60_000) },
  agent: { client: 'https://agent.example.com/client.json', name: 'Helper', host: 'agent.example.com' },
  object: { apiGroup: 'apps', version: 'v1', resource: 'deployments', kind: 'Deployment', namespace: 'shop', name: 'cart' },
  ...{ verb: 'patch', reason: 'The cart is killed at 64Mi.\nIt needs four times as much.' },
  ...{ expirationTimestamp: inMs(540_000), phase: 'Open', change: change('7', '64Mi') },
  ...differing,
});
const status = (code: number, reason: string, message: string) => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  code,
  reason,
  message,
});

describe('a proposed change on the console', () => {
  const { demo, visitor, page } = loggedIn('admin', '/about', { users: 2 });
  let proposal: ReturnType<typeof aProposal>;
  let refusal: ReturnType<typeof status> | undefined;
  const sent: string[] = [];

  before(() =>
    page.route('**/auth/v1/changeproposals**', async (route) => {
      const request = route.request();
      const [, action] = /\/p-1\/(\w+)$/.exec(request.url()) ?? [];
      if (action !== undefined) {
        sent.push(`${action} ${request.postData()}`);
        const isOld = action === 'confirmation' && request.postDataJSON().resourceVersion !== proposal.change?.resourceVersion;
        const refused = isOld ? status(409, 'Conflict', 'the object has changed') : refusal;
        if (refused) return route.fulfill({ status: refused.code, json: refused });
        proposal = aProposal({ phase: action === 'confirmation' ? 'Confirmed' : 'Rejected', change: undefined });
      }
      if (request.url().endsWith('/changeproposals')) return route.fulfill({ json: { metadata: {}, items: [proposal] } });
      return route.fulfill({ json: proposal });
    }),
  );
  beforeEach(() => {
    proposal = aProposal();
    refusal = undefined;
    sent.length = 0;
  });

  const open = async () => {
    await page.goto(`${demo.url}/proposals/p-1`);
    await page.getByRole('heading', { name: 'Change Deployment cart in shop' }).waitFor();
  };
  const difference = (text: string) => page.locator('.code-host').getByText(text).first().waitFor();
  const phase = (text: string) => page.locator('.page-head .phase').getByText(text, { exact: true }).waitFor();
  const buttons = () => page.locator('main .buttons').getByRole('button').allInnerTexts();

  it('is in a list with its agent and its state', async () => {
    await page.goto(`${demo.url}/proposals`);
    const row = page.getByRole('row').filter({ hasText: 'Change Deployment cart in shop' });
    await row.getByText('Helper (agent.example.com)').waitFor();
    await row.getByText('Open', { exact: true }).waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await row.getByRole('link').click();
    await difference('256Mi');
  });

  it('names the agent, quotes its reason as the text of the agent, and confirms nothing by Enter', async () => {
    await open();
    await difference('64Mi');
    await difference('256Mi');
    expect(await page.locator('blockquote').innerText()).to.equal(proposal.reason);
    await page.getByText('The agent has written this text. Compare it with the change.').waitFor();
    expect(await page.evaluate('document.activeElement.tagName')).to.be.oneOf(['BODY', 'H1']);
    await page.keyboard.press('Enter');
    expect(sent).to.deep.equal([]);
    expect(await misplaced(page)).to.deep.equal([]);
  });

  it('is confirmed with the version of the object that was shown, and moves the focus to the heading', async () => {
    await open();
    await difference('256Mi');
    await press(page, 'Confirm');
    await phase('Confirmed');
    expect(sent).to.deep.equal(['confirmation {"resourceVersion":"7"}']);
    await page.getByText('You have confirmed this change, and it is made.').waitFor();
    await eventually(
      () => page.evaluate('document.activeElement.tagName'),
      (tag) => tag === 'H1',
    );
    expect(await buttons()).to.deep.equal([]);
  });

  it('is rejected', async () => {
    await open();
    await press(page, 'Reject');
    await phase('Rejected');
    expect(sent).to.deep.equal(['rejection {}']);
    expect(await buttons()).to.deep.equal([]);
  });

  it('shows the new difference if the object has changed meanwhile', async () => {
    await open();
    await difference('64Mi');
    proposal = aProposal({ change: change('8', '128Mi') });
    await press(page, 'Confirm');
    await page.getByText('The object has changed meanwhile.').waitFor();
    await visitor.complainsOf('status of 409');
    await difference('128Mi');
    expect(await page.getByText('the object has changed', { exact: true }).count()).to.equal(0);
    await press(page, 'Confirm');
    await phase('Confirmed');
    expect(sent.at(-1)).to.equal('confirmation {"resourceVersion":"8"}');
  });

  it('is confirmed for a new version of the object on which its effect is the same', async () => {
    await open();
    await difference('256Mi');
    proposal = aProposal({ change: change('8', '64Mi') });
    await press(page, 'Confirm');
    await phase('Confirmed');
    await visitor.complainsOf('status of 409');
    expect(sent).to.deep.equal(['confirmation {"resourceVersion":"7"}', 'confirmation {"resourceVersion":"8"}']);
  });

  it('tells why the cluster refuses it, and can be rejected then', async () => {
    proposal = aProposal({ change: undefined, refusal: status(403, 'Forbidden', 'deployments.apps "cart" is forbidden') });
    await open();
    await page.getByText('The cluster refuses this change now. deployments.apps "cart" is forbidden').waitFor();
    expect(await buttons()).to.deep.equal(['Reject']);
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('tells of a refusal at the confirmation', async () => {
    await open();
    await difference('256Mi');
    refusal = status(403, 'Forbidden', 'a policy denies the change');
    await press(page, 'Confirm');
    await page.getByRole('alert').getByText('a policy denies the change').waitFor();
    await visitor.complainsOf('status of 403');
    expect(await buttons()).to.deep.equal(['Confirm', 'Reject']);
  });

  it('expires on the open page', async () => {
    proposal = aProposal({ expirationTimestamp: inMs(200) });
    await open();
    proposal = aProposal({ phase: 'Expired', change: undefined });
    await phase('Expired');
    expect(await buttons()).to.deep.equal([]);
    await page.getByText('The proposal has expired').waitFor();
  });

  it('fits a phone, in the dark and in each language', async () => {
    await open();
    await difference('256Mi');
    await expectAccessible(page);
    for (const language of ['de', 'zh', 'en']) {
      await page.evaluate(`localStorage.setItem('atrium-language', '${language}')`);
      for (const path of ['/proposals', '/proposals/p-1']) {
        await page.goto(`${demo.url}${path}`);
        await page.locator('main :is(table, .cm-content)').first().waitFor();
        expect(await barriers(page)).to.deep.equal([]);
        expect(await misplaced(page)).to.deep.equal([]);
      }
    }
  });
});
