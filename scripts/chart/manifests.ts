/** Files of deploy/manifests: the chart rendered with its default values, as plain YAML for `kubectl apply -k`. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Document, isMap, parse, parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { chartDirectory } from './values-files.ts';

const run = promisify(execFile);

export const manifestsDirectory = new URL('../../deploy/manifests/', import.meta.url);

const namespace = 'atrium-system';
const notice = '# Made from deploy/helm/atrium by `npm run manifests`.\n';

/** Fixed, so that the files do not depend on the version of Helm. */
const kubeVersion = '--kube-version=1.36.0';
/** Labels and annotations that only Helm needs. */
const ofHelm = /^(helm\.sh\/|checksum\/|app\.kubernetes\.io\/managed-by$)/;
const kustomization = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' };
const component = { apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component' };
const administratorFile = 'first-administrator.yaml';
/** Rights for `kubernetes.credentials: impersonate` and for access tokens, as components: an installation includes one of the forms. */
const impersonationFile = 'impersonation.yaml';
const impersonationForms = { impersonation: false, 'constrained-impersonation': true };
/** Kinds for a first administrator, who is described in the overlay's kustomization.yaml. */
const administratorKinds = ['Job', 'ClusterRoleBinding'];
/** Rights for features that are off by default. They are applied by hand when a feature is turned on; each has the setting that does so. */
const byHand = {
  'access-requests.yaml': 'features.accessRequests',
  'access-tokens.yaml': 'features.accessTokens',
  'agents.yaml': 'features.mcp',
  'certificates.yaml': 'users.certificates.enabled',
  'direct-shells.yaml': 'audit.refuseDirectShells',
  'sweep.yaml': 'features.accessRequests',
  'usage.yaml': 'console.metrics.lastHour',
  'user-bindings.yaml': 'features.userBindings',
  'workload-lists.yaml': 'lists.preset',
};
/** Files for `profile: team`, which are a component too. Links beside it lead to them. */
const teamDirectory = 'team';
export const teamFiles = ['access-requests.yaml', 'access-tokens.yaml', 'sweep.yaml', 'user-bindings.yaml', 'workload-lists.yaml'];
const pathOf = (name: string): string => (teamFiles.includes(name) ? `${teamDirectory}/${name}` : name);
const presets: Readonly<Record<string, string>> = { 'lists.preset': 'workloads' };
/** The audit store, as a component, which mounts its token in the pods of the service and tells them its address. */
const storeDirectory = 'audit-store';
const storeFile = 'audit-store.yaml';
const exampleURL = 'https://console.example.com';
const exampleDirectory = { id: 'staff', name: 'Staff', url: 'ldaps://directory.example.com', baseDN: 'dc=example,dc=com' };

const namespaceObject = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
};

/** Returns the files by their paths below deploy/manifests; `helm` is the path of the program. */
export async function manifestFiles(helm: string): Promise<Map<string, string>> {
  const { 'config.yaml': config = '', 'crds.yaml': _, [impersonationFile]: __, ...templates } = await renderedTemplates(helm);
  const impersonation = await Promise.all(
    Object.entries(impersonationForms).map(async ([directory, isConstrained]): Promise<[string, string][]> => {
      const value = `--set=rbac.impersonation.constrained=${isConstrained}`;
      const { [impersonationFile]: text } = await renderedTemplates(helm, value, `--show-only=templates/${impersonationFile}`);
      return [
        [`${directory}/${impersonationFile}`, `${notice}${text}`],
        [`${directory}/kustomization.yaml`, `${notice}${stringify({ ...component, resources: [impersonationFile] })}`],
      ];
    }),
  );
  // Rights cover any config.yaml, which administrators write: either issuer, and directories.
  const rights = await renderedTemplates(
    helm,
    '--set=config.identity.enabled=true,config.login.issuer=https://issuer.example.com',
    ...Object.values(byHand).map((setting) => `--set=config.${setting}=${presets[setting] ?? true}`),
    `--set-json=config.users.ldap=${JSON.stringify([exampleDirectory])}`,
  );
  const objects = { ...templates, 'rbac.yaml': `${stringify(namespaceObject)}---\n${rights['rbac.yaml']}` };
  const administrator = await renderedTemplates(helm, '--set=admin.email=ada@example.com', `--show-only=templates/${administratorFile}`);
  const store = await renderedTemplates(helm, '--set=auditStore.enabled=true');
  return new Map(
    Object.entries({
      [`${storeDirectory}/${storeFile}`]: `${notice}${store[storeFile]}`,
      [`${storeDirectory}/kustomization.yaml`]: `${notice}${stringify(storeComponent(store), { lineWidth: 0 })}`,
      'crds/kustomization.yaml': `${notice}${stringify({ ...kustomization, resources: await definitionFiles() })}`,
      ...Object.fromEntries(Object.entries(objects).map(([name, text]) => [name, `${notice}${text}`])),
      ...Object.fromEntries(Object.keys(byHand).map((name) => [pathOf(name), `${notice}${rights[name]}`])),
      [`${teamDirectory}/kustomization.yaml`]: `${notice}${stringify({ ...component, resources: teamFiles })}`,
      ...Object.fromEntries(impersonation.flat()),
      'config.yaml': `${notice}${parse(config).data['config.yaml']}`,
      'kustomization.yaml': `${notice}${stringify({
        ...kustomization,
        resources: ['crds', ...Object.keys(objects)].sort(),
        configMapGenerator: [{ name: 'atrium-config', namespace, files: ['config.yaml'] }],
      })}`,
      [`../example-overlay/${administratorFile}`]: `${notice}${plainAdministrator(administrator[administratorFile] ?? '')}`,
    }),
  );
}

/** Renders each template to its objects, without parts that only Helm needs. */
async function renderedTemplates(helm: string, ...options: string[]): Promise<Record<string, string>> {
  const chart = fileURLToPath(chartDirectory);
  const url = `--set=config.server.publicURL=${exampleURL}`;
  const { stdout } = await run(helm, [
    'template',
    'atrium',
    chart,
    `--namespace=${namespace}`,
    kubeVersion,
    '--skip-tests',
    url,
    ...options,
  ]);
  const templates: Record<string, string> = {};
  for (const text of stdout.split(/^---\n/m)) {
    const [source, name] = /^# Source: atrium\/templates\/(\S+)\n/.exec(text) ?? [];
    if (source === undefined || name === undefined) continue;
    const objects = parseAllDocuments(text.slice(source.length)).map(withoutHelm);
    templates[name] = [...(templates[name] === undefined ? [] : [templates[name]]), ...objects].join('---\n');
  }
  return templates;
}

const named = z.object({ name: z.string() });
const withStore = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.tuple([z.object({ volumeMounts: z.array(z.unknown()) })]),
        volumes: z.array(z.unknown()),
      }),
    }),
  }),
});

/** Returns the component: the objects of the store, and what the pods of the service have more with it. */
function storeComponent(rendered: Record<string, string>) {
  const partOf = (parts: readonly unknown[], name: string) => parts.find((part) => named.safeParse(part).data?.name === name);
  const { containers, volumes } = withStore.parse(parse(rendered['deployment.yaml'] ?? '')).spec.template.spec;
  const { store, spool } = parse(parse(rendered['config.yaml'] ?? '').data['config.yaml']).audit;
  const egress = parse(rendered['network-policy.yaml'] ?? '').spec.egress.at(-1);
  const add = (path: string, value: unknown) => ({ op: 'add', path, value });
  const inPod = (owner: string, variables: Record<string, string>, names: readonly string[]) => {
    const pod = `${owner}/spec/template/spec`;
    return [
      add(
        `${pod}/containers/0/env`,
        Object.entries(variables).map(([name, value]) => ({ name, value })),
      ),
      ...names.flatMap((name) => [
        add(`${pod}/containers/0/volumeMounts/-`, partOf(containers[0].volumeMounts, name)),
        add(`${pod}/volumes/-`, partOf(volumes, name)),
      ]),
    ];
  };
  const address = { ATRIUM_AUDIT__STORE__URL: store.url };
  const ofService = { ...address, ATRIUM_AUDIT__SPOOL__DIRECTORY: spool.directory };
  return {
    ...component,
    resources: [storeFile],
    patches: [
      { target: { kind: 'Deployment', name: 'atrium' }, patch: stringify(inPod('', ofService, [storeDirectory, 'audit-spool'])) },
      // The component `team` has a CronJob that ends access, which is an event too.
      { target: { kind: 'CronJob', name: 'atrium-sweep' }, patch: stringify(inPod('/spec/jobTemplate', address, [storeDirectory])) },
      { target: { kind: 'NetworkPolicy', name: 'atrium' }, patch: stringify([add('/spec/egress/-', egress)]) },
    ],
  };
}

/** Values of the overlay for the Job, under a name without a hash. */
const administratorConfig = { name: 'atrium-first-admin', items: [{ key: 'config.yaml', path: 'config.yaml' }] };
/** Removes the Job soon after its end: a Job that exists refuses another image. */
const administratorSeconds = 300;

/**
 * Gives the Job the account of the service, which may create users anyway. An account of its own would need the user's hashed name in its
 * roles, which readers should not have to compute. Its ConfigMap keeps its name when the configuration changes, because the template of a
 * Job is immutable.
 */
function plainAdministrator(text: string): string {
  const objects = parseAllDocuments(text).filter((object) => {
    const [kind, role] = [object.get('kind'), object.getIn(['roleRef', 'name'])];
    return administratorKinds.includes(String(kind)) && role !== 'atrium-first-admin';
  });
  for (const object of objects) {
    if (object.get('kind') !== 'Job') continue;
    object.setIn(['spec', 'ttlSecondsAfterFinished'], administratorSeconds);
    object.setIn(['spec', 'template', 'spec', 'serviceAccountName'], 'atrium');
    object.setIn(['spec', 'template', 'spec', 'volumes', 0, 'configMap'], object.createNode(administratorConfig));
  }
  return objects.map((object) => object.toString({ lineWidth: 0, flowCollectionPadding: false })).join('');
}

function withoutHelm(object: Document): string {
  for (const path of [['metadata'], ['spec', 'template', 'metadata']]) {
    for (const notes of ['labels', 'annotations']) {
      const map = object.getIn([...path, notes]);
      if (!isMap(map)) continue;
      map.items = map.items.filter(({ key }) => !ofHelm.test(String(key)));
      if (map.items.length === 0) object.deleteIn([...path, notes]);
    }
  }
  return object.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/**
 * Returns the definitions, which are files of the chart with `crds` as a link to them. Kustomize follows the link because they are a
 * kustomization too.
 */
async function definitionFiles(): Promise<string[]> {
  const names = await readdir(new URL('files/crds/', chartDirectory));
  return names.filter((name) => name !== 'kustomization.yaml').sort();
}
