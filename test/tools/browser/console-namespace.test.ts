/** The page of a namespace: its pods, quota, warnings, and the roles that are bound in it. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { type Demo, loggedIn, press } from './demo.ts';
import { create, inspect, part, untilAllowed } from './kind-pages.ts';

const rbac = 'rbac.authorization.k8s.io';
const pod = (name: string, cpu = '250m') => ({
  metadata: { name },
  spec: { containers: [{ name: 'app', image: 'nginx', resources: { requests: { cpu, memory: '64Mi' } } }] },
});

async function createTeam(demo: Demo): Promise<void> {
  await create(demo, 'api/v1/namespaces', { metadata: { name: 'team' } });
  for (const name of ['one', 'two', 'three']) await create(demo, 'api/v1/namespaces/team/pods', pod(name));
  const hard = { pods: '4', 'requests.cpu': '1', 'requests.memory': '2Gi' };
  const quotas = 'api/v1/namespaces/team/resourcequotas';
  await create(demo, quotas, { metadata: { name: 'figures' }, spec: { hard } });
  await create(demo, 'api/v1/namespaces/team/limitranges', {
    metadata: { name: 'defaults' },
    spec: { limits: [{ type: 'Container', max: { cpu: '2' }, defaultRequest: { cpu: '100m' }, default: { cpu: '500m' } }] },
  });
  await create(demo, 'api/v1/namespaces/team/events', {
    metadata: { name: 'one.1' },
    ...{ type: 'Warning', reason: 'Unhealthy', message: 'Readiness probe failed', count: 2, lastTimestamp: new Date().toISOString() },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'one', namespace: 'team' },
  });
  await create(demo, `apis/${rbac}/v1/namespaces/team/rolebindings`, {
    metadata: { name: 'readers' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: rbac, kind: 'User', name: 'reader@example.com' }],
  });
}

async function untilRunning(demo: Demo): Promise<void> {
  const headers = { authorization: `Bearer ${demo.person('admin').token}` };
  const list = async () => {
    const answer = await fetch(`${demo.url}/api/kubernetes/api/v1/namespaces/team/pods`, { headers });
    return ((await answer.json()) as { items: { status: { phase?: string } }[] }).items;
  };
  await eventually(list, (pods) => pods.every(({ status }) => status.phase === 'Running'));
}

describe('the page of a namespace', () => {
  const { demo, page } = loggedIn('admin', '/');
  const bar = (resource: string) => part(page, 'Quota').getByRole('row', { name: new RegExp(`^${resource}`) });

  it('shows pods by state, warnings, quota, limits and role bindings, each with links', async () => {
    await createTeam(demo);
    await page.goto(`${demo.url}/r/core/v1/namespaces/team`);
    await part(page, 'Pods by state').getByRole('link', { name: '3 Running' }).waitFor();
    await bar('pods').getByText('75 %').waitFor();
    expect(await bar('requests.cpu').innerText()).to.match(/750m · 75 %\s+1$/);
    expect(
      await part(page, 'Limits')
        .getByRole('row', { name: /^Container/ })
        .innerText(),
    ).to.match(/cpu\s+2\s+100m\s+500m/);
    const links = async (name: string) =>
      Promise.all((await part(page, name).getByRole('link').all()).map((link) => link.getAttribute('href')));
    await part(page, 'Role bindings').getByRole('link', { name: 'reader@example.com' }).waitFor();
    expect((await links('Role bindings')).join(' ')).to.match(
      /\/users\?q=reader%40example\.com \S*\/clusterroles\/view \S*\/rolebindings\/ns\/team\/readers \S*\/clusterrolebindings$/,
    );
    expect((await links('Warning events')).join()).to.match(/\/pods\/ns\/team\/one$/);
    await inspect(page, 'namespace');
  });

  it('follows pods and quota, and leaves the browser connections for the next page', async () => {
    await create(demo, 'api/v1/namespaces/team/pods', pod('four'));
    await part(page, 'Pods by state').getByRole('link', { name: '4 Running' }).waitFor();
    await bar('pods').getByText('100 %').waitFor();
    await part(page, 'Pods by state').getByRole('link', { name: '4 Running' }).click();
    await page.getByRole('link', { name: 'four' }).waitFor();
  });
});

describe('the page of a namespace for a user with few rights', () => {
  const { demo, page, visitor } = loggedIn('viewer', '/');

  it('names the lists that the user may not read, with the reason', async () => {
    await createTeam(demo);
    const own = `apis/${rbac}/v1/namespaces/team`;
    await create(demo, `${own}/roles`, {
      metadata: { name: 'looker' },
      rules: [
        { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
        { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
      ],
    });
    await create(demo, `${own}/rolebindings`, {
      metadata: { name: 'looker' },
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'looker' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: demo.person('viewer').email }],
    });
    await untilAllowed(demo, 'viewer', { verb: 'list', resource: 'pods', namespace: 'team' });
    await untilRunning(demo);
    await page.clock.install();
    await page.goto(`${demo.url}/r/core/v1/namespaces/team`);
    await part(page, 'Pods by state')
      .getByRole('link', { name: /Running/ })
      .waitFor();
    const refused = part(page, 'Role bindings');
    await refused.getByText('You may not list rolebindings in team.').waitFor();
    expect(await refused.getByRole('table').count()).to.equal(0);
    await inspect(page, 'namespace-refused');
    await refused.getByRole('button', { name: 'Why' }).click();
    await page.getByRole('dialog').getByText(`list rolebindings.${rbac} -n team`).waitFor();
    await press(page, 'Close');
  });

  it('counts pods again every half a minute where the user may not watch them', async () => {
    await part(page, 'Pods by state').getByRole('link', { name: '3 Running' }).waitFor();
    await create(demo, 'api/v1/namespaces/team/pods', pod('late'));
    await untilRunning(demo);

    await page.clock.fastForward(31_000);
    await part(page, 'Pods by state').getByRole('link', { name: '4 Running' }).waitFor();
  });

  it('shows an object by itself once the user may read it', async () => {
    await create(demo, 'api/v1/namespaces/team/configmaps', { metadata: { name: 'later' }, data: { color: 'green' } });
    await page.goto(`${demo.url}/r/core/v1/configmaps/ns/team/later`);
    await page.getByText('get configmaps later -n team').first().waitFor();
    const right = { verb: 'get', resource: 'configmaps', namespace: 'team', name: 'later' };
    const own = `apis/${rbac}/v1/namespaces/team`;
    await create(demo, `${own}/roles`, {
      metadata: { name: 'later' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['later'], verbs: ['get'] }],
    });
    await create(demo, `${own}/rolebindings`, {
      metadata: { name: 'later' },
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'later' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: demo.person('viewer').email }],
    });
    await untilAllowed(demo, 'viewer', right);

    await page.clock.fastForward(31_000);
    await page.getByText('green').first().waitFor();
    await visitor.complainsOf('status of 403');
  });
});
