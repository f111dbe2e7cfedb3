import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import { chartDirectory } from '../../../scripts/chart/values-files.ts';
import { one, render, type Values } from './chart.ts';

const publicURL = { 'config.server.publicURL': 'https://example.com/console' };

const deploymentSchema = z.object({
  spec: z.object({
    template: z.object({
      spec: z.looseObject({
        imagePullSecrets: z.unknown().optional(),
        initContainers: z.unknown().optional(),
        hostAliases: z.unknown().optional(),
        dnsConfig: z.unknown().optional(),
        topologySpreadConstraints: z.unknown().optional(),
        containers: z.array(z.looseObject({ name: z.string(), image: z.string(), envFrom: z.unknown().optional() })),
      }),
    }),
  }),
});

const podOf = async (values: Values) => deploymentSchema.parse(one(await render(values), 'Deployment')).spec.template.spec;

/** Prometheus operator API reference, PrometheusRule (monitoring.coreos.com/v1). */
const ruleSchema = z.object({
  spec: z.strictObject({
    groups: z.array(
      z.strictObject({
        name: z.string(),
        rules: z.array(
          z.strictObject({
            alert: z.string(),
            expr: z.string(),
            for: z.string().optional(),
            labels: z.record(z.string(), z.string()),
            annotations: z.strictObject({ summary: z.string() }),
          }),
        ),
      }),
    ),
  }),
});

describe('the chart with values of an administrator', () => {
  it('uses the image of a registry, with the one of a parent chart first', async () => {
    const image = async (values: Values) => (await podOf({ 'image.tag': 't', ...values })).containers[0]?.image;
    const digest = `sha256:${'b'.repeat(64)}`;

    expect(await image({})).to.equal('atrium:t');
    expect(await image({ 'image.registry': 'r.example.com:5000' })).to.equal('r.example.com:5000/atrium:t');
    expect(await image({ 'image.registry': 'r.example.com', 'global.imageRegistry': 'mirror' })).to.equal('mirror/atrium:t');
    expect(await image({ global: { imageRegistry: 'mirror' }, 'image.digest': digest })).to.equal(`mirror/atrium@${digest}`);
    expect(await image({ global: { other: 'x' } })).to.equal('atrium:t');
  });

  it('copies fields of a Pod into the pod', async () => {
    const asWritten = {
      imagePullSecrets: [{ name: 'registry' }],
      initContainers: [{ name: 'wait', image: 'busybox' }],
      hostAliases: [{ ip: '192.0.2.7', hostnames: ['issuer.example.com'] }],
      dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }],
    };
    const envFrom = [{ configMapRef: { name: 'settings' } }];
    const pod = await podOf({ ...asWritten, envFrom, extraContainers: [{ name: 'proxy', image: 'proxy' }] });

    expect(pod).to.deep.include(asWritten);
    expect(pod.containers.map(({ name }) => name)).to.deep.equal(['atrium', 'proxy']);
    expect(pod.containers[0]).to.deep.include({ envFrom });
  });

  it('pulls the image of the first administrator and of the test with the same credentials', async () => {
    const objects = await render({ ...publicURL, 'admin.email': 'a@example.com', imagePullSecrets: [{ name: 'registry' }] });
    const pods = [one(objects, 'Job', 'atrium-first-admin'), one(objects, 'Pod', 'atrium-test')].map((object) => JSON.stringify(object));

    for (const pod of pods) expect(pod).to.include('"imagePullSecrets":[{"name":"registry"}]');
  });

  it('sets either minAvailable or maxUnavailable of the disruption budget', async () => {
    const spec = async (values: Values) => one(await render(values), 'PodDisruptionBudget').spec;

    expect(await spec({}))
      .to.include({ maxUnavailable: 1 })
      .and.not.have.property('minAvailable');
    expect(await spec({ 'podDisruptionBudget.minAvailable': 2 }))
      .to.include({ minAvailable: 2 })
      .and.not.have.property('maxUnavailable');
    expect(await spec({ 'podDisruptionBudget.minAvailable': 0 })).to.include({ minAvailable: 0 });
  });

  it('routes further hosts and paths by the Ingress, with certificates for the named hosts', async () => {
    const spec = async (values: Values) =>
      one(await render({ 'ingress.enabled': true, 'config.server.trustedProxies': ['10.0.0.0/8'], ...values }), 'Ingress').spec;
    const backend = { service: { name: 'atrium', port: { name: 'http' } } };
    const own = { path: '/console', pathType: 'Prefix', backend };

    expect(await spec({ ...publicURL, 'ingress.tls': [{ secretName: 'tls' }] })).to.deep.equal({
      tls: [{ hosts: ['example.com'], secretName: 'tls' }],
      rules: [{ host: 'example.com', http: { paths: [own] } }],
    });
    expect(
      await spec({
        ...publicURL,
        'ingress.hosts': [{ host: 'example.com' }, { host: 'b.example.com', paths: [{ path: '/api', pathType: 'Exact' }, { path: '/x' }] }],
        'ingress.tls': [{ secretName: 'a', hosts: ['example.com'] }, { secretName: 'all' }],
      }),
    ).to.deep.equal({
      tls: [
        { hosts: ['example.com'], secretName: 'a' },
        { hosts: ['example.com', 'b.example.com'], secretName: 'all' },
      ],
      rules: [
        { host: 'example.com', http: { paths: [own] } },
        {
          host: 'b.example.com',
          http: {
            paths: [
              { path: '/api', pathType: 'Exact', backend },
              { path: '/x', pathType: 'Prefix', backend },
            ],
          },
        },
      ],
    });
  });

  it('E3 gives both Services the chosen IP families', async () => {
    const families = { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] };
    const objects = await render({ 'service.ipFamilyPolicy': families.ipFamilyPolicy, 'service.ipFamilies': families.ipFamilies });

    for (const name of ['atrium', 'atrium-metrics']) expect(one(objects, 'Service', name).spec).to.deep.include(families);
    expect(one(await render(), 'Service').spec).not.to.have.any.keys('ipFamilies', 'ipFamilyPolicy');
  });

  it('renders further objects, which may name the release', async () => {
    const objects = await render({
      extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-more' }, data: { a: 'b' } }],
    });

    expect(one(objects, 'ConfigMap', 'atrium-more')).to.have.deep.property('data', { a: 'b' });
  });

  it('relabels targets and samples for Prometheus', async () => {
    const relabelings = [{ sourceLabels: ['__meta_kubernetes_pod_node_name'], targetLabel: 'node' }];
    const metricRelabelings = [{ sourceLabels: ['__name__'], regex: 'nodejs_.*', action: 'drop' }];
    const objects = await render({ 'metrics.serviceMonitor': { enabled: true, relabelings, metricRelabelings } });

    expect(one(objects, 'ServiceMonitor').spec).to.have.deep.property('endpoints', [{ port: 'metrics', relabelings, metricRelabelings }]);
  });

  it('has the alerts of docs/operations.md, with labels for routes', async () => {
    const operations = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
    const explained = Array.from(operations.matchAll(/^\| `(Atrium[A-Za-z]+)` \|/gm), ([, name]) => name);
    const shown = ruleSchema.shape.spec.parse(parse(readFileSync(new URL('files/alerts.yaml', chartDirectory), 'utf8')));
    expect(shown.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))).to.have.members(explained);
    const objects = await render({
      'metrics.prometheusRule': { enabled: true, labels: { release: 'prometheus' }, alertLabels: { team: 'a' } },
    });
    const rule = one(objects, 'PrometheusRule');
    const { groups } = ruleSchema.parse(rule).spec;

    expect(rule.metadata.labels).to.include({ release: 'prometheus' });
    expect(groups).to.deep.equal(
      shown.groups.map((group) => ({ ...group, rules: group.rules.map((one) => ({ ...one, labels: { ...one.labels, team: 'a' } })) })),
    );
    expect(await render()).to.satisfy((all: { kind: string }[]) => all.every(({ kind }) => kind !== 'PrometheusRule'));
  });

  it('describes itself in Chart.yaml, with an icon that needs no other host', () => {
    const chart = parse(readFileSync(new URL('Chart.yaml', chartDirectory), 'utf8'));
    const [, picture = ''] = /^data:image\/svg\+xml;base64,(.+)$/.exec(chart.icon) ?? [];

    expect(chart).to.include.keys('home', 'sources', 'maintainers');
    expect(Buffer.from(picture, 'base64').toString()).to.match(/^<svg [\s\S]*<\/svg>$/);
  });
});
