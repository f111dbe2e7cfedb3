/** Changes that an agent proposes by the official client, and that its user confirms in a browser. */
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { aNamespace } from '../../service/bindings/support.ts';
import { onThisMachine } from '../../service/mcp/official-agent.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn, press, submitPassword } from './demo.ts';
import { ReturningAgent } from './returning-agent.ts';

const password = 'a long enough passphrase';
const ada = { email: 'ada@example.com', password };
const bob = { email: 'bob@example.com', password };
const cartPath = '/apis/apps/v1/namespaces/shop/deployments/cart';
const cart = { resource: 'deployments', namespace: 'shop', name: 'cart' };
const memoryPath = '/spec/template/spec/containers/0/resources/limits/memory';

const node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node-1' },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' }, conditions: [{ type: 'Ready', status: 'True' }] },
};
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'cart', namespace: 'shop', labels: { app: 'cart' } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'cart' } },
    template: {
      metadata: { labels: { app: 'cart' } },
      spec: {
        containers: [{ name: 'cart', image: 'registry.example.com/recommendations:1', resources: { limits: { memory: '256Mi' } } }],
      },
    },
  },
};

/** A question to each tool that reads. */
const questions: Readonly<Record<string, Record<string, unknown>>> = {
  list: { resource: 'deployments', namespace: 'shop' },
  get: cart,
  describe: cart,
  search: { text: 'cart' },
  events: { namespace: 'shop' },
  may_i: { verb: 'patch', resource: 'deployments.apps', namespace: 'shop' },
  why_not: { verb: 'patch', resource: 'deployments.apps', namespace: 'shop' },
  my_access: { namespace: 'shop' },
  who_can: { verb: 'patch', resource: 'deployments.apps', namespace: 'shop' },
  activity: {},
};

const answered = z.object({ isError: z.boolean().default(false), structuredContent: z.record(z.string(), z.unknown()) });
const proposed = z.object({ proposal: z.string(), url: z.url() });

/** Declares the tests. @param hasPods false for a cluster without a kubelet */
export const describeAgentStory = (title: string, { hasPods }: { hasPods: boolean }) =>
  describe(title, () => {
    const auditStore = forSuite(() => SqliteStore.open(':memory:'));
    let moved = 0;
    const service = forSuite(() =>
      startEmbeddedLogin({
        emails: [ada.email, bob.email],
        password,
        credentials: 'impersonate',
        features: { mcp: true },
        hasWorkloads: true,
        auditStore,
        files: theConsole,
        pluginContext: onThisMachine,
        now: () => new Date(Date.now() + moved),
      }),
    );
    const agent = forSuite(() => ReturningAgent.start(service));
    const browser = forSuite(startChromium, (it) => it.close());
    const visitor = forSuite(async () => new Visitor(await browser.newContext({ ignoreHTTPSErrors: true })), needsNoStop);
    const page = forSuite(() => visitor.openTab(), needsNoStop);
    const client = forSuite(
      async () => {
        await agent.permit(page, ada);
        return agent.official.connect();
      },
      (it) => it.close(),
    );

    before(async () => {
      await service.admin.apply(
        ...[node, aNamespace('shop'), deployment],
        clusterRoleBinding('ada', 'cluster-admin', { kind: 'User', name: ada.email }),
        clusterRoleBinding('bob', 'view', { kind: 'User', name: bob.email }),
      );
      await page.goto(service.url);
      await press(page, 'Log in');
      await isLoggedIn(page, ada.email);
    });
    afterEach(() => expect(visitor.takeComplaints()).to.deep.equal([]));

    const call = async (name: string, input: Record<string, unknown>) => {
      const { isError, structuredContent } = answered.parse(await client.callTool({ name, arguments: input }));
      expect(isError, JSON.stringify(structuredContent)).to.equal(false);
      return structuredContent;
    };
    const propose = async (patch: unknown, reason = 'The cart needs it.') =>
      proposed.parse(await call('propose_change', { ...cart, verb: 'patch', patch, reason }));
    const scale = (replicas: number) => propose({ spec: { replicas } });
    const read = async (): Promise<unknown> => (await service.admin.call('GET', cartPath)).body;
    /** Waits without the agent, whose calls have a bound. */
    const untilPods = (isWanted: (text: string) => boolean) =>
      eventually(async () => JSON.stringify((await service.admin.call('GET', '/api/v1/namespaces/shop/pods')).body), isWanted);
    const shows = (tab: Page, text: string) => tab.locator('.code-host').getByText(text).first().waitFor();
    const phase = (text: string) => page.locator('.page-head .phase').getByText(text, { exact: true }).waitFor();

    if (hasPods)
      it('is found, proposed, confirmed and told', async () => {
        await untilPods((text) => text.includes('CrashLoopBackOff'));
        const broken = await eventually(
          () => call('list', { resource: 'pods', namespace: 'shop' }),
          (data) => JSON.stringify(data).includes('CrashLoopBackOff'),
        );
        const [, pod] = /"(cart-[a-z0-9]+-[a-z0-9]+)"/.exec(JSON.stringify(broken)) ?? [];
        const described = await call('describe', { resource: 'pods', namespace: 'shop', name: pod });
        expect(JSON.stringify(described.troubles)).to.include('OOMKilled');
        const reason = 'The container cart is killed at its memory limit of 256Mi.';
        const { url } = await propose([{ op: 'replace', path: memoryPath, value: '512Mi' }], reason);

        await page.goto(url);
        await page.getByRole('heading', { name: 'Change Deployment cart in shop' }).waitFor();
        await shows(page, '512Mi');
        await shows(page, '256Mi');
        await page.locator('blockquote').getByText(reason).waitFor();
        expect(await barriers(page)).to.deep.equal([]);
        expect(JSON.stringify(await read()))
          .to.include('256Mi')
          .and.not.to.include('512Mi');
        // The status of a Deployment whose pods crash changes, and its version with it.
        visitor.accepted = /status of 409 .*\/confirmation/;
        await press(page, 'Confirm');
        await phase('Confirmed');
        visitor.accepted = undefined;
        expect(await read()).to.have.nested.property('spec.template.spec.containers[0].resources.limits.memory', '512Mi');
        await untilPods((text) => text.includes('512Mi') && !text.includes('256Mi') && /"ready":true/.test(text));

        await page.getByRole('link', { name: 'Activity of this object' }).click();
        await page.getByText('as the agent Official').first().waitFor();
        await page.getByText(ada.email).first().waitFor();
        expect(await barriers(page)).to.deep.equal([]);
      });

    it('is scaled once its user confirms, and Activity names both', async () => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).toSorted()).to.deep.equal([...Object.keys(questions), 'logs', 'propose_change'].toSorted());
      for (const [name, input] of Object.entries(questions)) await call(name, input);
      const logs = await client.callTool({ name: 'logs', arguments: { namespace: 'shop', pod: 'gone' } });
      expect(answered.parse(logs).structuredContent).to.have.nested.property('error.code', 404);
      const { url } = await scale(3);
      await page.goto(url);
      await shows(page, 'replicas: 3');
      await press(page, 'Confirm');
      await phase('Confirmed');
      expect(await read()).to.have.nested.property('spec.replicas', 3);
      await page.getByRole('link', { name: 'Activity of this object' }).click();
      await page
        .getByText(/ada@example\.com scaled .* to 3, as the agent Official/)
        .first()
        .waitFor();
    });

    it('shows the new difference after another change of the object', async () => {
      const { url } = await scale(2);
      await page.goto(url);
      await shows(page, 'replicas: 2');
      const merge = { 'content-type': 'application/merge-patch+json' };
      expect((await service.admin.call('PATCH', cartPath, { spec: { replicas: 4 } }, merge)).status).to.equal(200);
      await press(page, 'Confirm');
      await page.getByText('The object has changed meanwhile.').waitFor();
      await visitor.complainsOf('status of 409');
      await shows(page, 'replicas: 4');
      expect(await read()).to.have.nested.property('spec.replicas', 4);
      visitor.accepted = /status of 409 .*\/confirmation/;
      await press(page, 'Confirm');
      await phase('Confirmed');
      visitor.accepted = undefined;
      expect(await read()).to.have.nested.property('spec.replicas', 2);
    });

    it('is rejected, and stays in the list of the user', async () => {
      const { url } = await scale(3);
      await page.goto(url);
      await press(page, 'Reject');
      await phase('Rejected');
      expect(await read()).to.have.nested.property('spec.replicas', 2);
      await page.goto(`${service.url}/sessions`);
      await page.getByRole('link', { name: 'Proposed changes' }).click();
      const rows = page.getByRole('row').filter({ hasText: 'Change Deployment cart in shop' });
      await rows.filter({ hasText: 'Rejected' }).waitFor();
      await rows.filter({ hasText: 'Confirmed' }).first().waitFor();
    });

    it('tells a user whose right has ended, and changes nothing', async () => {
      const { url } = await scale(5);
      await service.admin.remove('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/ada');
      await service.admin.apply(clusterRoleBinding('ada-view', 'view', { kind: 'User', name: ada.email }));
      await eventually(
        () => service.admin.isAllowed({ user: ada.email }, { verb: 'patch', group: 'apps', resource: 'deployments', namespace: 'shop' }),
        (isAllowed) => !isAllowed,
      );
      await page.goto(url);
      await page.getByText('The cluster refuses this change now.').waitFor();
      await page.getByRole('alert').getByText('is forbidden').waitFor();
      expect(await page.getByRole('button', { name: 'Confirm' }).count()).to.equal(0);
      expect(await read()).to.have.nested.property('spec.replicas', 2);
      await service.admin.apply(clusterRoleBinding('ada', 'cluster-admin', { kind: 'User', name: ada.email }));
    });

    it('is not there for another user', async () => {
      const { url } = await scale(6);
      const other = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true }));
      const tab = await other.openTab();
      await tab.goto(url);
      await press(tab, 'Log in');
      await submitPassword(tab, bob);
      await isLoggedIn(tab, bob.email);
      await tab.getByText('The object does not exist or was deleted.').waitFor();
      await other.complainsOf('status of 404');
      await other.leave();
    });

    it('is over after ten minutes', async () => {
      const { url } = await scale(7);
      moved = 601_000;
      await page.goto(url);
      await phase('Expired');
      expect(await page.locator('main .buttons').getByRole('button').count()).to.equal(0);
      moved = 0;
    });
  });
