import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { aBinding } from '../../service/bindings/support.ts';
import { configMap, publicLabel } from '../../service/console/objects.ts';
import { aGroup } from '../../service/groups/support.ts';
import { TestProvider } from '../../service/login/provider/provider.ts';
import { aMachine, audience, branch } from '../../service/token-exchange/workloads.ts';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { AuditLog } from './audit-log.ts';
import { someEmail, someSession } from './operations.ts';

export type Credentials = 'passthrough' | 'impersonate';

/** The service in front of a control plane with an audit log, and a provider for logins. */
export interface AuditedService {
  server: TestServer;
  provider: TestProvider;
  log: AuditLog;
  stop(): Promise<void>;
}

/** Starts the service. With `passthrough` the API server trusts the provider too. Members of the group `callers` may read all objects. */
export async function startAuditedService(credentials: Credentials): Promise<AuditedService> {
  if (process.env.TEST_CLUSTER !== 'real') throw new Error('the embedded cluster keeps no audit log: run `npm run test:cluster`');
  const provider = await TestProvider.start({ tls: true });
  const { issuer, clientID, certificateAuthority = '' } = provider;
  const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
  const caFile = join(directory, 'ca.crt');
  await writeFile(caFile, certificateAuthority);
  const server = await startServer({
    objects: [...(await preparedObjects()), aMachine('shop', [{ issuer, audience, claims: { sub: branch } }])],
    // The audit log is read from its first line.
    isReused: false,
    issuers: credentials === 'passthrough' ? [{ url: issuer, audiences: [clientID], certificateAuthority }] : [],
    config: {
      server: { publicURL: 'http://console.test' },
      kubernetes: { credentials },
      login: { issuer, clientID, caFile, perMinute: 1_000_000 },
      features: { tokenExchange: true },
      tokenExchange: { issuers: [{ id: 'ci', issuer, audience, caFile }] },
      console: { envsConfigMap: 'envs' },
      lists: { resources: [{ group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'roles' }] },
    },
  });
  return {
    server,
    provider,
    log: new AuditLog(server.auditLog ?? '', server.kubernetes),
    async stop() {
      await server.stop();
      await provider.stop();
      await rm(directory, { recursive: true });
    },
  };
}

async function preparedObjects(): Promise<Manifest[]> {
  const impersonation = await readFile(new URL('../../../deploy/manifests/impersonation.yaml', import.meta.url), 'utf8');
  const rbac = 'rbac.authorization.k8s.io';
  return [
    ...parseAllDocuments(impersonation).map((document): Manifest => document.toJS()),
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'callers' },
      rules: [
        { apiGroups: ['auth.platform.io'], resources: ['users'], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
        { apiGroups: ['auth.platform.io'], resources: ['groups', 'userbindings'], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
        { apiGroups: [rbac], resources: ['clusterroles'], verbs: ['bind'], resourceNames: ['view'] },
        { apiGroups: [rbac], resources: ['roles', 'clusterroles'], verbs: ['get', 'list'] },
        { apiGroups: [rbac], resources: ['rolebindings', 'clusterrolebindings'], verbs: ['list'] },
        { apiGroups: ['auth.platform.io'], resources: ['simulations'], verbs: ['create'] },
        { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
        { apiGroups: [''], resources: ['groups'], verbs: ['impersonate'], resourceNames: ['local:dev', 'local:empty'] },
        { apiGroups: ['auth.platform.io'], resources: ['users/sync', 'users/roles', 'users/password'], verbs: ['get', 'update'] },
        { apiGroups: ['auth.platform.io'], resources: ['users/authorize'], verbs: ['create'] },
        { apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: [someEmail] },
        { apiGroups: ['auth.platform.io'], resources: ['sessions', 'accesstokens'], verbs: ['list', 'delete'] },
        { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
        { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
        { nonResourceURLs: ['/metrics'], verbs: ['get'] },
      ],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'callers' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'callers' },
      subjects: ['callers', 'system:serviceaccounts:callers'].map((name) => ({ apiGroup: rbac, kind: 'Group', name })),
    },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'callers' } },
    aUser(someEmail),
    aGroup('dev', [nameOf(someEmail)]),
    aGroup('empty'),
    aBinding('some'),
    {
      apiVersion: 'auth.platform.io/v1',
      kind: 'Session',
      metadata: { name: someSession, namespace: serviceNamespace },
      spec: { user: nameOf(someEmail), createdAt: '2026-01-01T00:00:00Z', expiration: '2100-01-01T00:00:00Z', sealed: 'x' },
    },
    configMap('envs', {}, { data: { COLOR: 'blue' } }),
    configMap('plugin', { 'console.platform.io/plugin': 'cost' }, { data: { 'plugin-manifest.json': '{}' } }),
    configMap('private', {}, { data: { 'logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>' } }),
    configMap('public', publicLabel, { data: { 'logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>' } }),
  ];
}
