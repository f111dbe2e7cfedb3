import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { parseConfig } from '../../../src/config/load.ts';
import { rightsOf, rightsTable } from '../../../src/rights.ts';
import type { Manifest } from '../../support/cluster-admin.ts';
import { textOf } from './call-recorder.ts';
import { namespace, notes, objectsOf, one, refusal, render, renderRelease, renderText, type Values } from './chart.ts';
import { grantsOf } from './granted.ts';

const name = 'atrium-audit-store';
const account = 'system:serviceaccount:atrium-system:atrium';
const enabled = (values: Values = {}) => render({ 'auditStore.enabled': true, ...values });

const podSchema = z.object({
  spec: z.object({
    template: z.object({
      spec: z.looseObject({
        serviceAccountName: z.string(),
        securityContext: z.looseObject({ fsGroup: z.number().optional() }),
        containers: z.tuple([
          z.looseObject({ args: z.array(z.string()), volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })) }),
        ]),
        volumes: z.array(z.looseObject({ name: z.string() })),
      }),
    }),
    volumeClaimTemplates: z.array(z.looseObject({ spec: z.unknown() })).optional(),
  }),
});

const setOf = (objects: readonly Manifest[]) => podSchema.parse(one(objects, 'StatefulSet', name)).spec;
const deploymentOf = (objects: readonly Manifest[]) => podSchema.parse(one(objects, 'Deployment')).spec.template.spec;
const fileOf = (objects: readonly Manifest[], map: string) => {
  const text = z.object({ 'config.yaml': z.string() }).parse(one(objects, 'ConfigMap', map).data)['config.yaml'];
  // Both files must be valid for the program.
  return { config: parseConfig({ yaml: text }), settings: parse(text) };
};
const volume = (volumes: readonly { name: string }[], wanted: string) => volumes.find((each) => each.name === wanted);

describe('the audit store of the chart', () => {
  it('is not in an installation by default, nor with the profile team', async () => {
    for (const values of [{}, { profile: 'team' }]) expect(await renderText(values)).not.to.include('audit-store');
  });

  it('is a StatefulSet with a volume, which takes events from the account of the service alone', async () => {
    const objects = await enabled();
    const { template, volumeClaimTemplates } = setOf(objects);
    const { config } = fileOf(objects, name);

    expect(config.auditStore).to.deep.include({ databaseFile: '/var/lib/atrium/audit.db', callers: [account] });
    expect([config.server.port, config.server.metricsPort, config.server.tls]).to.deep.equal([8080, 9090, undefined]);
    expect(template.spec.containers[0].args).to.deep.equal(['audit-store', '--config', '/etc/atrium/config.yaml']);
    expect(template.spec.securityContext.fsGroup).to.equal(65_532);
    expect(template.spec.containers[0].volumeMounts).to.deep.include({ name: 'data', mountPath: '/var/lib/atrium' });
    expect(volumeClaimTemplates?.map(({ spec }) => spec)).to.deep.equal([
      { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } } },
    ]);
  });

  it('is known to the pods of the service and of the sweep, with a token that it alone accepts', async () => {
    const objects = await enabled({ profile: 'team' });
    const sources = [{ serviceAccountToken: { audience: 'atrium-audit-store', path: 'token', expirationSeconds: 3600 } }];
    const sweep = z.object({ spec: z.object({ jobTemplate: podSchema }) }).parse(one(objects, 'CronJob', 'atrium-sweep'));

    const { audit } = fileOf(objects, 'atrium-config').config;
    expect(audit.store?.url).to.equal(`http://${name}.${namespace}.svc:8080`);
    for (const pod of [deploymentOf(objects), sweep.spec.jobTemplate.spec.template.spec]) {
      expect(volume(pod.volumes, 'audit-store')).to.deep.equal({ name: 'audit-store', projected: { sources } });
      const mount = pod.containers[0].volumeMounts.find(({ mountPath }) => audit.store?.tokenFile === `${mountPath}/token`);
      expect(mount?.name).to.equal('audit-store');
    }
  });

  it('has a spool in each pod of the service, in a bounded emptyDir, unless the configuration names a directory', async () => {
    const objects = await enabled({ 'auditStore.spool.sizeLimit': '200Mi' });
    const { audit } = fileOf(objects, 'atrium-config').config;
    const { volumes, containers } = deploymentOf(objects);
    expect(volume(volumes, 'audit-spool')).to.deep.equal({ name: 'audit-spool', emptyDir: { sizeLimit: '200Mi' } });
    expect(containers[0].volumeMounts).to.deep.include({ name: 'audit-spool', mountPath: audit.spool?.directory });

    const own = await enabled({ 'config.audit.spool.directory': '/var/lib/own' });
    expect(fileOf(own, 'atrium-config').config.audit.spool?.directory).to.equal('/var/lib/own');
    expect(volume(deploymentOf(own).volumes, 'audit-spool')).to.equal(undefined);
  });

  it('has a single right, and lets the service keep checkpoints in a Lease', async () => {
    const [before, objects] = [await render(), await enabled()];
    const granted = (all: readonly Manifest[], holder: string) => grantsOf(all, { name: holder, namespace }).map(textOf);

    expect(setOf(objects).template.spec.serviceAccountName).to.equal(name);
    expect(granted(objects, name)).to.deep.equal(['create tokenreviews.authentication.k8s.io']);
    const ofLease = ['get', 'update'].map((verb) => `${verb} leases.coordination.k8s.io atrium-audit in ${namespace}`);
    expect(granted(objects, 'atrium').toSorted()).to.deep.equal([...granted(before, 'atrium'), ...ofLease].toSorted());
    expect(await notes({ 'auditStore.enabled': true })).to.match(/auditStore\.enabled +cluster +create +tokenreviews/);
    const { config } = fileOf(objects, 'atrium-config');
    expect(rightsTable(rightsOf(config))).to.match(/audit\.store +cluster +create +tokenreviews \(authentication\.k8s\.io\)/);
    expect(rightsTable(rightsOf(parseConfig({ yaml: '' })))).not.to.include('tokenreviews');
  });

  it('is reached from the pods of the service, and reaches DNS and the API server', async () => {
    const objects = await enabled();
    const policy = z.object({ ingress: z.tuple([z.unknown(), z.unknown()]), egress: z.array(z.unknown()) });
    const { ingress, egress } = policy.parse(one(objects, 'NetworkPolicy', name).spec);
    const labels = { 'app.kubernetes.io/name': 'atrium', 'app.kubernetes.io/instance': 'atrium' };
    const components = [{ key: 'app.kubernetes.io/component', operator: 'In', values: ['server', 'sweep'] }];

    expect(ingress[0]).to.deep.equal({
      ports: [{ port: 'http' }],
      from: [{ podSelector: { matchLabels: labels, matchExpressions: components } }],
    });
    expect(egress).to.have.length(2);
    const service = z.object({ egress: z.array(z.unknown()) }).parse(one(objects, 'NetworkPolicy').spec);
    const store = { podSelector: { matchLabels: { ...labels, 'app.kubernetes.io/component': 'audit-store' } } };
    expect(service.egress).to.deep.include({ ports: [{ port: 8080 }], to: [store] });
    for (const kind of ['Service', 'PodDisruptionBudget'])
      expect(JSON.stringify(one(objects, kind, name).spec), kind).to.include('"app.kubernetes.io/component":"audit-store"');
  });

  it('reaches the collector of logs, with files of additional volumes', async () => {
    const volumes = [{ name: 'collector', secret: { secretName: 'collector' } }];
    const mounts = [{ name: 'collector', mountPath: '/var/run/secrets/collector', readOnly: true }];
    const otlp = { endpoint: 'https://collector.logs.svc:4318', tokenFile: '/var/run/secrets/collector/token' };
    const objects = await enabled({
      'config.auditStore.otlp': otlp,
      'auditStore.extraVolumes': volumes,
      'auditStore.extraVolumeMounts': mounts,
    });
    const { egress } = z.object({ egress: z.array(z.unknown()) }).parse(one(objects, 'NetworkPolicy', name).spec);

    expect(fileOf(objects, name).settings.auditStore.otlp).to.deep.equal(otlp);
    expect(egress.at(-1)).to.deep.equal({ ports: [{ port: 4318 }] });
    expect(volume(setOf(objects).template.spec.volumes, 'collector')).to.deep.include({ secret: { secretName: 'collector' } });
    expect(JSON.stringify(setOf(objects).template.spec)).to.include(JSON.stringify(mounts[0]));
  });

  it('keeps recordings in a bucket, by the access key of a Secret', async () => {
    const s3 = { endpoint: 'https://s3.example.com:9000', bucket: 'recordings' };
    const objects = await enabled({
      'config.auditStore.recordings.s3': s3,
      'auditStore.s3': {
        existingSecret: 'bucket',
        secretAccessKeyKey: 'AWS_SECRET_ACCESS_KEY',
        certificateAuthority: { existingConfigMap: 'ca' },
      },
    });
    const { egress } = z.object({ egress: z.array(z.unknown()) }).parse(one(objects, 'NetworkPolicy', name).spec);
    const { volumes, containers } = setOf(objects).template.spec;

    expect(fileOf(objects, name).config.auditStore.recordings.s3).to.include({
      ...s3,
      accessKeyIDFile: '/var/run/secrets/atrium/bucket/id',
      secretAccessKeyFile: '/var/run/secrets/atrium/bucket/secret',
      caFile: '/var/run/secrets/atrium/bucket-ca/ca.crt',
    });
    expect(volume(volumes, 'bucket')).to.deep.include({
      secret: {
        secretName: 'bucket',
        items: [
          { key: 'accessKeyID', path: 'id' },
          { key: 'AWS_SECRET_ACCESS_KEY', path: 'secret' },
        ],
      },
    });
    expect(containers[0].volumeMounts.map(({ mountPath }) => mountPath)).to.include.members([
      '/var/run/secrets/atrium/bucket',
      '/var/run/secrets/atrium/bucket-ca',
    ]);
    expect(egress.at(-1)).to.deep.equal({ ports: [{ port: 9000 }] });
  });

  it('takes the audit webhook of kube-apiserver, from the addresses of the control plane', async () => {
    const apiServer = { existingSecret: 'audit-webhook', clusterIP: '10.96.200.20', cidrs: ['192.0.2.0/28'] };
    const objects = await enabled({ 'auditStore.apiServer': apiServer });
    const { ingress } = z.object({ ingress: z.array(z.unknown()) }).parse(one(objects, 'NetworkPolicy', name).spec);

    expect(fileOf(objects, name).settings.auditStore.apiServer).to.deep.equal({
      tokenFile: '/var/run/secrets/atrium/audit-webhook/token',
    });
    expect(volume(setOf(objects).template.spec.volumes, 'audit-webhook')).to.deep.include({
      secret: { secretName: 'audit-webhook', items: [{ key: 'token', path: 'token' }] },
    });
    expect(one(objects, 'Service', name).spec).to.include({ clusterIP: '10.96.200.20' });
    expect(ingress[1]).to.deep.equal({ ports: [{ port: 'http' }], from: [{ ipBlock: { cidr: '192.0.2.0/28' } }] });
    expect(fileOf(await enabled(), name).settings.auditStore).not.to.have.property('apiServer');
  });

  it('has the certificate of a Secret, whose authority the service trusts', async () => {
    const objects = await enabled({ 'auditStore.tls.existingSecret': 'audit-tls' });
    const [store, service] = [fileOf(objects, name).config, fileOf(objects, 'atrium-config').config];

    expect(store.server.tls?.certFile).to.equal('/var/run/secrets/atrium/tls/tls.crt');
    expect(volume(setOf(objects).template.spec.volumes, 'tls')).to.deep.include({ secret: { secretName: 'audit-tls' } });
    expect(service.audit.store).to.include({
      url: `https://${name}.${namespace}.svc:8080`,
      caFile: '/var/run/secrets/atrium/audit-store/ca.crt',
    });
    expect(JSON.stringify(volume(deploymentOf(objects).volumes, 'audit-store'))).to.include('{"key":"ca.crt","path":"ca.crt"}');

    const known = await enabled({ 'auditStore.tls.existingSecret': 'audit-tls', 'auditStore.tls.caKey': '' });
    expect(fileOf(known, 'atrium-config').settings.audit.store).not.to.have.property('caFile');
    expect(await notes({ 'auditStore.enabled': true })).to.include('clear text');
    expect(await notes({ 'auditStore.enabled': true, 'auditStore.tls.existingSecret': 'audit-tls' })).not.to.include('clear text');
  });

  it('keeps events in PostgreSQL without a volume', async () => {
    const objects = await enabled({
      'auditStore.postgres': { existingSecret: 'audit-db-app', certificateAuthority: { existingSecret: 'audit-db-ca' } },
      'networkPolicy.egress.postgresPorts': [6432],
    });
    const { template, volumeClaimTemplates } = setOf(objects);

    expect(fileOf(objects, name).config.auditStore.postgres).to.deep.equal({
      urlFile: '/var/run/secrets/atrium/audit-database/url',
      caFile: '/var/run/secrets/atrium/audit-database-ca/ca.crt',
    });
    expect(volumeClaimTemplates).to.equal(undefined);
    expect(template.spec.securityContext.fsGroup).to.equal(undefined);
    expect(template.spec.containers[0].volumeMounts.map(({ mountPath }) => mountPath)).not.to.include('/var/lib/atrium');
    expect(volume(template.spec.volumes, 'audit-database')).to.deep.include({
      secret: { secretName: 'audit-db-app', items: [{ key: 'uri', path: 'url' }] },
    });
    expect(JSON.stringify(one(objects, 'NetworkPolicy', name).spec)).to.include('{"port":6432}');
  });

  it('takes settings, a claim and a class of the installation', async () => {
    const claimed = await enabled({ 'auditStore.persistence.existingClaim': 'audit', 'config.auditStore.callers': [`${account}-2`] });
    expect(volume(setOf(claimed).template.spec.volumes, 'data')).to.deep.include({ persistentVolumeClaim: { claimName: 'audit' } });
    expect(setOf(claimed).volumeClaimTemplates).to.equal(undefined);
    expect(fileOf(claimed, name).config.auditStore.callers).to.deep.equal([account, `${account}-2`]);
    const classed = await enabled({ 'auditStore.persistence': { storageClassName: 'fast', size: '50Gi' } });
    expect(JSON.stringify(setOf(classed).volumeClaimTemplates))
      .to.include('"storageClassName":"fast"')
      .and.include('50Gi');
    const openShift = await enabled({ 'podSecurityContext.runAsUser': null, 'podSecurityContext.runAsGroup': null });
    expect(setOf(openShift).template.spec.securityContext.fsGroup).to.equal(undefined);
    expect(await refusal({ 'auditStore.enabled': true, 'config.audit.store.url': 'http://elsewhere' })).to.include('config.audit.store: ');
  });

  it('has a name that leaves room for the revisions of a StatefulSet', async () => {
    const objects = objectsOf(await renderRelease({ name: 'a'.repeat(50), namespace }, { 'auditStore.enabled': true }));
    const [set] = objects.filter(({ kind }) => kind === 'StatefulSet');
    expect(set?.metadata.name)
      .to.equal(`${'a'.repeat(40)}-audit-store`)
      .and.have.length(52);
  });

  it('is a component of deploy/manifests, with the same pods as in the chart', async () => {
    const overlay = await mkdtemp(`${tmpdir()}/atrium-store-`);
    try {
      await cp(fileURLToPath(new URL('../../../deploy/example-overlay', import.meta.url)), overlay, { recursive: true, dereference: true });
      const file = `${overlay}/kustomization.yaml`;
      const { components, ...others } = parse(await readFile(file, 'utf8'));
      const built = async (used: string[]) => {
        await writeFile(file, stringify({ ...others, components: used }));
        return objectsOf((await promisify(execFile)('kubectl', ['kustomize', overlay], { maxBuffer: 16 * 1024 * 1024 })).stdout);
      };
      const objects = await built([...components, 'base/audit-store']);
      const chart = await enabled();
      const { store, spool } = fileOf(chart, 'atrium-config').settings.audit;
      const env = [{ name: 'ATRIUM_AUDIT__STORE__URL', value: store.url }];
      const ofService = [...env, { name: 'ATRIUM_AUDIT__SPOOL__DIRECTORY', value: spool.directory }];

      expect(fileOf(objects, name).settings).to.deep.equal(fileOf(chart, name).settings);
      expect(setOf(objects).volumeClaimTemplates).to.deep.equal(setOf(chart).volumeClaimTemplates);
      expect(deploymentOf(objects).containers[0].env).to.deep.equal(ofService);
      for (const part of ['audit-store', 'audit-spool'])
        expect(deploymentOf(objects).volumes).to.deep.include(volume(deploymentOf(chart).volumes, part));
      const egressOf = (all: readonly Manifest[]) =>
        z.object({ egress: z.array(z.unknown()) }).parse(one(all, 'NetworkPolicy').spec).egress;
      expect(egressOf(objects)).to.deep.include(egressOf(chart).at(-1));
      expect(JSON.stringify(one(objects, 'CronJob', 'atrium-sweep'))).to.include(JSON.stringify(env));
      const environment = Object.fromEntries(ofService.map((variable) => [variable.name, variable.value]));
      expect(parseConfig({ yaml: '', environment }).audit.store?.url).to.equal(env[0]?.value);
      expect(parseConfig({ yaml: '', environment }).audit.spool?.directory).to.equal(spool.directory);
      expect(JSON.stringify(await built(['base/audit-store']))).to.include('ATRIUM_AUDIT__STORE__URL');
      expect(JSON.stringify(await built(components))).not.to.include('audit-store');
    } finally {
      await rm(overlay, { recursive: true });
    }
  });
});
