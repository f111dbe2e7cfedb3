import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { z } from 'zod';
import { chartDirectory } from '../../../scripts/chart/values-files.ts';
import { parseConfig } from '../../../src/config/load.ts';
import type { Manifest } from '../../support/cluster-admin.ts';
import { chart, helm, identitiesOf, namespace, objectsOf, one, refusal, render, renderText, type Values } from './chart.ts';

const server = { publicURL: 'https://console.example.com' };

const deploymentSchema = z.looseObject({
  spec: z.looseObject({
    replicas: z.number().optional(),
    strategy: z.unknown(),
    template: z.object({
      metadata: z.looseObject({ annotations: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        terminationGracePeriodSeconds: z.number(),
        automountServiceAccountToken: z.boolean(),
        containers: z.tuple([
          z.looseObject({
            image: z.string(),
            args: z.array(z.string()),
            lifecycle: z.unknown().optional(),
            ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
            readinessProbe: z.unknown(),
            livenessProbe: z.unknown(),
            volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
          }),
        ]),
        volumes: z.array(z.looseObject({ name: z.string() })),
      }),
    }),
  }),
});

async function deployment(values: Values) {
  const { spec } = deploymentSchema.parse(one(await render(values), 'Deployment'));
  const { metadata, spec: pod } = spec.template;
  return { spec, metadata, pod, container: pod.containers[0] };
}

const networkPolicySchema = z.object({
  spec: z.object({ egress: z.array(z.object({ ports: z.array(z.object({ port: z.number() })) })) }),
});
const routeSchema = z.object({ spec: z.object({ rules: z.array(z.unknown()) }) });

const configOf = (objects: readonly Manifest[]) =>
  parseConfig({ yaml: z.object({ 'config.yaml': z.string() }).parse(one(objects, 'ConfigMap', 'atrium-config').data)['config.yaml'] });

describe('the Deployment of the chart', () => {
  it('replaces pods one after the other, with a preStop delay and a grace period', async () => {
    const { spec, pod, container } = await deployment({});
    const slow = await deployment({ preStopSeconds: 0, 'config.server.shutdownGrace': '90s' });

    expect(spec).to.deep.include({
      replicas: 2,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    });
    expect(container.lifecycle).to.deep.equal({ preStop: { sleep: { seconds: 5 } } });
    expect(pod.terminationGracePeriodSeconds).to.equal(35);
    expect(slow.container.lifecycle).to.equal(undefined);
    expect(slow.pod.terminationGracePeriodSeconds).to.equal(95);
  });

  it('references the image by digest, by tag, or by the version of the chart, in this order', async () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const image = async (values: Values) => (await deployment({ 'image.repository': 'r.example.com/x', ...values })).container.image;

    expect(await image({})).to.match(/^r\.example\.com\/x:\d+\.\d+\.\d+$/);
    expect(await image({ 'image.tag': 'edge' })).to.equal('r.example.com/x:edge');
    expect(await image({ 'image.tag': 'edge', 'image.digest': digest })).to.equal(`r.example.com/x@${digest}`);
  });

  it('probes health at the second port, independent of number and protocol of the first one', async () => {
    const { container } = await deployment({
      'config.server': { port: 8443, metricsPort: 9091, publicURL: 'https://example.com/console' },
      'tls.existingSecret': 'tls',
    });

    expect(container.ports).to.deep.equal([
      { name: 'http', containerPort: 8443 },
      { name: 'metrics', containerPort: 9091 },
    ]);
    expect(container.readinessProbe).to.have.deep.property('httpGet', { path: '/readyz', port: 'metrics' });
    expect(container.livenessProbe).to.have.deep.property('httpGet', { path: '/livez', port: 'metrics' });
  });

  it('mounts the Secrets and ConfigMaps of the configuration, and a projected token', async () => {
    const values = {
      'clientSecret.existingSecret': 'client',
      'clientSecret.key': 'secret',
      'tls.existingSecret': 'tls',
      'certificateAuthority.existingSecret': 'authority',
      'config.server': server,
    };
    const { pod, container } = await deployment(values);
    const { login, server: listener } = configOf(await render(values));
    const volumes = new Map(pod.volumes.map(({ name, ...volume }) => [name, JSON.stringify(volume)]));
    const mountOf = (file: string) => container.volumeMounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`))?.name ?? '';

    expect(volumes.get(mountOf(login.clientSecretFile ?? '')))
      .to.include('"secretName":"client"')
      .and.to.include('"key":"secret"');
    expect(volumes.get(mountOf(login.caFile ?? ''))).to.include('"secretName":"authority"');
    expect(volumes.get(mountOf(listener.tls?.certFile ?? ''))).to.include('"secretName":"tls"');
    expect(volumes.get(mountOf(container.args.at(-1) ?? ''))).to.include('"name":"atrium-config"');
    expect(volumes.get(mountOf('/var/run/secrets/kubernetes.io/serviceaccount/token'))).to.include('serviceAccountToken');
    expect(pod.automountServiceAccountToken).to.equal(false);
  });

  for (const kind of ['existingConfigMap', 'existingSecret'])
    it(`mounts the certificate authority of plugins from an ${kind}, and configures it`, async () => {
      const values = { [`pluginCertificateAuthority.${kind}`]: 'services', 'pluginCertificateAuthority.key': 'service-ca.crt' };
      const { pod, container } = await deployment({ ...values, 'certificateAuthority.existingSecret': 'authority' });
      const { console, login } = configOf(await render({ ...values, 'certificateAuthority.existingSecret': 'authority' }));
      const file = console.plugins.caFile ?? '';
      const { name } = container.volumeMounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`)) ?? {};
      const items = [{ key: 'service-ca.crt', path: 'ca.crt' }];

      expect(file)
        .to.match(/\/ca\.crt$/)
        .and.not.to.equal(login.caFile);
      expect(pod.volumes.find((volume) => volume.name === name)).to.deep.include(
        kind === 'existingSecret' ? { secret: { secretName: 'services', items } } : { configMap: { name: 'services', items } },
      );
    });

  it('replaces pods only when the configuration changes', async () => {
    const checksum = async (values: Values) => (await deployment(values)).metadata.annotations['checksum/config'];

    expect(await checksum({ 'config.log.level': 'debug' })).to.not.equal(await checksum({}));
    expect(await checksum({ replicaCount: 3 })).to.equal(await checksum({}));
  });

  it('leaves the number of pods to an autoscaler', async () => {
    const { spec } = await deployment({ 'autoscaling.enabled': true });

    expect(spec.replicas).to.equal(undefined);
  });
});

describe('other objects of the chart', () => {
  it('have the configuration of the values', async () => {
    const config = configOf(await render({ config: { server, users: { idleDays: 7 }, console: { envs: { a: 'b' } } } }));

    expect(config).to.have.nested.property('server.publicURL', server.publicURL);
    expect(config).to.have.nested.property('users.idleDays', 7);
    expect(config).to.have.deep.nested.property('console.envs', { a: 'b' });
  });

  it('allow two releases in one cluster', async () => {
    const first = await render({ 'config.server': server, 'admin.email': 'ada@example.com' });
    const off = { 'crds.install': false, 'roles.install': false, 'admissionPolicy.install': false };
    const values = Object.entries({ ...off, 'config.server': server, 'admin.email': 'ada@example.com' });
    const options = values.map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`);
    const second = objectsOf(await helm('template', 'other', chart, '--namespace=elsewhere', '--kube-version=1.36.0', ...options));

    expect(second.filter(({ kind }) => kind === 'Deployment')).to.have.nested.property('[0].metadata.name', 'other-atrium');
    expect(identitiesOf(second).filter((identity) => identitiesOf(first).includes(identity))).to.deep.equal([]);
  });

  it('have unique names, also in the namespace default', async () => {
    const address = '--set=config.server.publicURL=https://console.example.com';
    const text = await helm('template', 'atrium', chart, '--namespace=default', '--kube-version=1.36.0', address);

    expect(identitiesOf(objectsOf(text))).to.have.length(new Set(identitiesOf(objectsOf(text))).size);
  });

  it('include the shipped custom resource definitions, which are kept after an uninstallation', async () => {
    const definitions = (await render()).filter(({ kind }) => kind === 'CustomResourceDefinition');
    const shipped = readdirSync(new URL('files/crds/', chartDirectory))
      .filter((name) => name.endsWith('.io.yaml'))
      .map((name) => readFileSync(new URL(`files/crds/${name}`, chartDirectory), 'utf8'));

    expect(definitions.map(({ spec }) => spec)).to.deep.equal(shipped.flatMap((text) => objectsOf(text)).map(({ spec }) => spec));
    for (const { metadata } of definitions) expect(metadata.annotations).to.deep.equal({ 'helm.sh/resource-policy': 'keep' });
  });

  it('grant impersonation only if the API server does not trust the issuer, or access tokens are on', async () => {
    const impersonates = async (values: Values) =>
      (await render(values)).some(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'atrium-impersonation');
    const issuer = { 'config.login.issuer': 'https://issuer.example.com' };

    expect(await impersonates({})).to.equal(true);
    expect(await impersonates(issuer)).to.equal(false);
    expect(await impersonates({ ...issuer, 'config.kubernetes.credentials': 'impersonate' })).to.equal(true);
    expect(await impersonates({ 'config.kubernetes.credentials': 'passthrough' })).to.equal(false);
    expect(await impersonates({ ...issuer, 'config.features.accessTokens': true })).to.equal(true);
    // The service refuses null, too.
    expect(await refusal({ ...issuer, 'config.features.accessTokens': null })).to.include("at '/config/features/accessTokens': got null");
  });

  it('let the account approve certificates only if the feature is on, and only at its signer', async () => {
    const rules = async (values: Values) => {
      const objects = await render({ 'config.server': server, ...values });
      return objects.filter(({ metadata }) => metadata.name === 'atrium-certificates-signer').flatMap(({ rules = [] }) => rules);
    };
    const on = { 'config.users.certificates.enabled': true };

    expect(await rules({})).to.deep.equal([]);
    expect(await rules({ ...on, 'config.users.certificates.signerName': 'example.com/people' })).to.deep.include({
      apiGroups: ['certificates.k8s.io'],
      resources: ['signers'],
      resourceNames: ['example.com/people'],
      verbs: ['approve'],
    });
    expect(await rules({ ...on, 'rbac.create': false })).to.deep.equal([]);
  });

  it('grant constrained impersonation in place of impersonate where the cluster has it', async () => {
    const verbsOf = async (values: Values, ...options: string[]) => {
      const role = one(await render(values, ...options), 'ClusterRole', 'atrium-impersonation');
      return (role.rules as { verbs: string[] }[]).flatMap((rule) => rule.verbs);
    };
    const verbs = await verbsOf({});
    for (const version of ['1.36.0', 'v1.36.0-gke.100', '1.40.1'])
      expect(await verbsOf({}, `--kube-version=${version}`), version).not.to.include('impersonate');
    for (const version of ['1.31.0', '1.35.9']) expect(await verbsOf({}, `--kube-version=${version}`), version).to.include('impersonate');
    expect(await verbsOf({ 'rbac.impersonation.constrained': false })).to.include('impersonate');
    expect(await verbsOf({ 'rbac.impersonation.constrained': true }, '--kube-version=1.35.0')).not.to.include('impersonate');
    expect(verbs).to.include.members([
      'impersonate:user-info',
      'impersonate-on:user-info:list',
      'impersonate-on:user-info:deletecollection',
    ]);
    expect(verbs).not.to.include('impersonate');
  });

  it('grant impersonation of any group to a team only by name where the cluster cannot constrain it', async () => {
    const older = '--kube-version=1.35.0';
    const team = { profile: 'team' };
    const error = await renderText(team, older).then(() => '', String);

    expect(error).to.include('rbac.impersonation: Kubernetes v1.35.0 does not have constrained impersonation (1.36)');
    for (const value of [{ 'rbac.impersonation.groups': ['dev'] }, { 'rbac.impersonation.constrained': false }])
      expect(await renderText({ ...team, ...value }, older)).to.include('verbs: [impersonate]');
    const trusted = { ...team, 'config.login.issuer': 'https://issuer.example.com', 'config.features.accessTokens': false };
    expect(await renderText(trusted, older)).not.to.include('name: atrium-impersonation');
  });

  it('follow the profile, and the settings that override it', async () => {
    const settings = async (values: Values) => {
      const { data } = z.object({ data: z.record(z.string(), z.string()) }).parse(one(await render(values), 'ConfigMap', 'atrium-config'));
      return parseConfig({ yaml: data['config.yaml'] ?? '' });
    };
    const roles = async (values: Values) =>
      (await render(values)).filter(({ kind }) => kind === 'ClusterRole').map(({ metadata }) => metadata.name.replace('atrium-', ''));
    const team = ['access-requests', 'access-tokens', 'user-bindings', 'workload-lists'];

    expect(await roles({ profile: 'team' }))
      .to.include.members(team)
      .and.not.include('certificates-signer');
    for (const name of team) expect(await roles({}), name).not.to.include(name);
    expect(await roles({ profile: 'team', 'config.features.accessTokens': false, 'config.lists.preset': 'none' })).not.to.include.members([
      'access-tokens',
    ]);
    expect(await roles({ 'config.profile': 'team', profile: 'minimal' })).to.include.members(team);
    expect((await settings({ profile: 'team' })).features).to.include({ accessRequests: true, userBindings: true, accessTokens: true });
    expect((await settings({})).features).to.include({ accessRequests: false, userBindings: false, accessTokens: false });
    expect((await settings({})).users.certificates.enabled).to.equal(false);
  });

  it('limit impersonation to the given names', async () => {
    const objects = await render({ 'rbac.impersonation.groups': ['dev', 'local:oncall'] });

    expect(one(objects, 'ClusterRole', 'atrium-impersonation').rules).to.deep.include({
      apiGroups: ['authentication.k8s.io'],
      resources: ['groups'],
      resourceNames: ['dev', 'local:oncall'],
      verbs: ['impersonate:user-info'],
    });
  });

  it('let the pods reach the issuer at its port', async () => {
    const ports = async (values: Values) => JSON.stringify(one(await render(values), 'NetworkPolicy').spec);

    expect(await ports({ 'config.server.publicURL': 'https://example.com:8444' })).to.include('{"ports":[{"port":8444}]}');
    expect(await ports({ 'config.login.issuer': 'http://dex.auth:5556/dex' })).to.include('{"ports":[{"port":5556}]}');
    expect(await ports({ 'networkPolicy.egress.issuerPorts': [1, 2] })).to.include('{"ports":[{"port":1},{"port":2}]}');
  });

  it('E16 let the pods reach the mail server, the directories, the collector and the webhooks of the configuration', async () => {
    const { egress: before } = networkPolicySchema.parse(one(await render({ 'config.server': server }), 'NetworkPolicy')).spec;
    const directory = (id: string, url: string) => ({ id, name: id, url, baseDN: 'dc=example,dc=com' });
    const added = async (values: Values) => {
      const { egress } = networkPolicySchema.parse(one(await render({ 'config.server': server, ...values }), 'NetworkPolicy')).spec;
      return egress.slice(before.length).map(({ ports }) => ports.map(({ port }) => port));
    };
    const smtp = { host: 'mail.example.com', from: 'console@example.com' };
    const ldap = [
      directory('a', 'ldaps://a.example.com'),
      directory('b', 'ldap://b.example.com'),
      directory('c', 'ldaps://c.example.com:3269'),
    ];

    expect(await added({})).to.deep.equal([]);
    expect(await added({ 'config.smtp': smtp, 'config.users.ldap': ldap })).to.deep.equal([[587], [636, 389, 3269]]);
    expect(await added({ 'config.smtp': { ...smtp, port: 465 } })).to.deep.equal([[465]]);
    expect(await added({ 'config.tracing.otlpEndpoint': 'http://collector.tracing:4318' })).to.deep.equal([[4318]]);
    const webhooks = ['https://chat.example.com/hook', 'http://receiver.shop.svc:8080/'].map((url, index) => ({
      name: `w${index}`,
      url,
      secretFile: '/etc/atrium/secret',
    }));
    expect(await added({ 'config.accessRequests.webhooks': webhooks })).to.deep.equal([[443, 8080]]);
    expect(await added({ 'networkPolicy.egress.smtpPorts': [25], 'networkPolicy.egress.ldapPorts': [1636] })).to.deep.equal([[25], [1636]]);
  });

  it('E16 are all in the namespace of namespaceOverride, and name no other', async () => {
    const text = JSON.stringify(
      await render({
        namespaceOverride: 'console',
        'config.server': { ...server, trustedProxies: ['10.0.0.0/8'] },
        'config.features': { accessTokens: true, userBindings: true },
        'config.users.certificates.enabled': true,
        'config.lists.preset': 'workloads',
        'admin.email': 'ada@example.com',
        'auditStore.enabled': true,
        'ingress.enabled': true,
        'httpRoute.enabled': true,
        'httpRoute.parentRefs': [{ name: 'gateway' }],
        'autoscaling.enabled': true,
        'metrics.serviceMonitor.enabled': true,
        'metrics.prometheusRule.enabled': true,
        'metrics.dashboard.enabled': true,
      }),
    );

    expect(text).to.include('"namespace":"console"').and.not.include(namespace);
  });

  it('E16 keep watches and terminals open behind ingress-nginx and a Gateway', async () => {
    const ways = {
      'config.server': { ...server, trustedProxies: ['10.0.0.0/8'] },
      'ingress.enabled': true,
      'httpRoute.enabled': true,
      'httpRoute.parentRefs': [{ name: 'gateway' }],
    };
    const routeOf = async (values: Values) => routeSchema.parse(one(await render({ ...ways, ...values }), 'HTTPRoute')).spec.rules;
    const redirect = { filters: [{ type: 'RequestRedirect', requestRedirect: { scheme: 'https' } }] };
    const matches = [{ path: { type: 'PathPrefix', value: '/api/kubernetes' } }];
    const backendRefs = [{ name: 'atrium', port: 80 }];

    expect(one(await render({ ...ways, 'ingress.annotations': { a: 'b' } }), 'Ingress').metadata.annotations).to.deep.equal({
      a: 'b',
      'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
      'nginx.ingress.kubernetes.io/proxy-send-timeout': '3600',
    });
    expect(await routeOf({ 'httpRoute.timeouts.request': null }))
      .to.have.nested.property('[0]')
      .and.not.have.property('timeouts');
    expect(await routeOf({ 'httpRoute.timeouts.request': '1h', 'httpRoute.rules': [redirect, { matches }] })).to.deep.equal([
      redirect,
      { matches, backendRefs, timeouts: { request: '1h' } },
    ]);
    expect(await routeOf({ 'httpRoute.rules': [{ matches, timeouts: { request: '2h' } }] })).to.deep.equal([
      { matches, backendRefs, timeouts: { request: '2h' } },
    ]);
  });

  it('E16 are watched by a Prometheus in another namespace', async () => {
    const objects = await render({
      'metrics.serviceMonitor': { enabled: true, namespace: 'monitoring' },
      'metrics.prometheusRule': { enabled: true, namespace: 'monitoring' },
    });

    expect(one(objects, 'ServiceMonitor').spec).to.deep.include({ namespaceSelector: { matchNames: [namespace] } });
    for (const kind of ['ServiceMonitor', 'PrometheusRule']) expect(one(objects, kind).metadata.namespace).to.equal('monitoring');
  });

  it('route only the base path, by Ingress and by HTTPRoute', async () => {
    const objects = await render({
      'config.server.publicURL': 'https://example.com:8443/console/',
      'config.server.trustedProxies': ['10.0.0.0/8'],
      'ingress.enabled': true,
      'httpRoute.enabled': true,
      'httpRoute.parentRefs': [{ name: 'gateway', namespace: 'edge', sectionName: 'https' }],
    });
    const service = { service: { name: 'atrium', port: { name: 'http' } } };

    expect(one(objects, 'Ingress').spec).to.deep.equal({
      rules: [{ host: 'example.com', http: { paths: [{ path: '/console', pathType: 'Prefix', backend: service }] } }],
    });
    // Gateway API reference, HTTPRoute (v1).
    expect(one(objects, 'HTTPRoute')).to.deep.include({
      apiVersion: 'gateway.networking.k8s.io/v1',
      spec: {
        parentRefs: [{ name: 'gateway', namespace: 'edge', sectionName: 'https' }],
        hostnames: ['example.com'],
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: '/console' } }],
            backendRefs: [{ name: 'atrium', port: 80 }],
            timeouts: { request: '0s' },
          },
        ],
      },
    });
  });

  it('select only the Service with the metrics for Prometheus', async () => {
    const objects = await render({ 'metrics.serviceMonitor': { enabled: true, labels: { release: 'prometheus' }, interval: '15s' } });
    const monitor = one(objects, 'ServiceMonitor');
    const { selector, endpoints } = z
      .strictObject({ selector: z.object({ matchLabels: z.record(z.string(), z.string()) }), endpoints: z.unknown() })
      .parse(monitor.spec);
    const selected = objects.filter(
      ({ kind, metadata }) =>
        kind === 'Service' && Object.entries(selector.matchLabels).every(([key, value]) => metadata.labels?.[key] === value),
    );

    // Prometheus operator API reference, ServiceMonitor (monitoring.coreos.com/v1).
    expect(monitor.metadata.labels).to.include({ release: 'prometheus' });
    expect(endpoints).to.deep.equal([{ port: 'metrics', interval: '15s' }]);
    expect(selected.map(({ metadata }) => metadata.name)).to.deep.equal(['atrium-metrics']);
  });
});
