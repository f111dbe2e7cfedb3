/** The CronJob that ends access while no replica runs. */
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { render, type Values } from './chart.ts';

const features = { 'config.features.accessRequests': true, 'config.features.userBindings': true };
const server = { 'config.server.publicURL': 'https://console.example.com' };

describe('the CronJob of access requests', () => {
  const cronJobs = async (values: Values) => (await render({ ...server, ...values })).filter(({ kind }) => kind === 'CronJob');

  it('is made with the feature, unless it is turned off', async () => {
    expect(await cronJobs({})).to.deep.equal([]);
    expect(await cronJobs({ ...features, 'accessRequests.sweep.enabled': false })).to.deep.equal([]);
    const made = await cronJobs({ ...features, 'accessRequests.sweep.schedule': '*/2 * * * *' });
    expect(made.map(({ metadata, spec }) => [metadata.name, (spec as { schedule: string }).schedule])).to.deep.equal([
      ['atrium-sweep', '*/2 * * * *'],
    ]);
  });

  it('runs as the service does: its image, account, configuration, limits, and no writable file system', async () => {
    const objects = await render({ ...server, ...features });
    const templateOf = (kind: string) => {
      const spec = objects.find((object) => object.kind === kind && JSON.stringify(object).includes('/etc/atrium/config.yaml'))?.spec as {
        jobTemplate?: { spec: { template: Pod } };
        template?: Pod;
      };
      return spec.jobTemplate?.spec.template ?? spec.template;
    };
    const [job, service] = [templateOf('CronJob'), templateOf('Deployment')];
    const [sweep, serve] = [job?.spec.containers[0], service?.spec.containers[0]];
    expect(sweep?.args).to.deep.equal(['sweep', '--config', '/etc/atrium/config.yaml']);
    for (const member of ['image', 'securityContext', 'resources'] as const) expect(sweep?.[member]).to.deep.equal(serve?.[member]);
    for (const member of ['serviceAccountName', 'securityContext', 'volumes', 'automountServiceAccountToken'] as const)
      expect(job?.spec[member]).to.deep.equal(service?.spec[member]);
    // The Service and the PodDisruptionBudget select servers alone.
    expect(job?.metadata.labels).to.include({ 'app.kubernetes.io/component': 'sweep' });
  });
});

interface Pod {
  metadata: { labels: Record<string, string> };
  spec: {
    serviceAccountName: string;
    automountServiceAccountToken: boolean;
    securityContext: unknown;
    volumes: unknown;
    containers: { args: string[]; image: string; securityContext: unknown; resources: unknown }[];
  };
}
