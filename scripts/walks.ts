/**
 * Prints how many files of `src` a reader opens to follow a request: those of which a function runs for it and not for every request.
 * `--files` names them. What a bearer token takes is not counted again for the users list.
 */
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { configMap } from '../test/service/console/objects.ts';
import { logIn, userInfoOf } from '../test/service/login/provider/browser.ts';
import { TestProvider } from '../test/service/login/provider/provider.ts';
import { LoginCluster } from '../test/service/login/support.ts';
import { eventually } from '../test/support/cluster-admin.ts';

const source = fileURLToPath(new URL('../src/', import.meta.url));
const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** The files of `src` of which a function ran since the last call. */
async function ran(): Promise<Set<string>> {
  const { result } = await inspector.post('Profiler.takePreciseCoverage');
  const files = result.filter(
    ({ url, functions }) =>
      url.startsWith(`file://${source}`) &&
      functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
  );
  return new Set(files.map(({ url }) => url.slice(`file://${source}`.length)));
}

const provider = await TestProvider.start({});
const cluster = await LoginCluster.start();
const service = await cluster.service({ provider, config: { kubernetes: { accessCache: '1m' } } });
await cluster.kubernetes.apply(
  configMap(
    'cost',
    { 'console.platform.io/public': 'true', 'console.platform.io/plugin': 'cost' },
    { data: { 'plugin-manifest.json': '{"name":"cost"}' } },
  ),
);
await eventually(
  () => fetch(`${service.url}/plugins/cost/plugin-manifest.json`),
  ({ status }) => status === 200,
);
const { callback } = await logIn(service, { storage: 'local' });
const { access_token: bearer = '', refresh_token: given = '' } = userInfoOf(callback).ext.token ?? {};
let refreshToken = given;
const mayListUsers = [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'walk' },
    rules: [{ apiGroups: ['auth.platform.io'], resources: ['users'], verbs: ['list'] }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'walk' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'walk' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }],
  },
];
const authorization = `Bearer ${bearer}`;

const walks = {
  'bearer token': () => fetch(`${service.url}/api/v2/token/info`, { headers: { authorization } }),
  'users list': () => fetch(`${service.url}/auth/v1/users?limit=20&page=1`, { headers: { authorization } }),
  // With the same token twice the second answer is that of the first.
  refresh: async () => {
    const response = await fetch(`${service.url}/api/v2/token/refresh?${new URLSearchParams({ refresh_token: refreshToken })}`);
    refreshToken = z.object({ refresh_token: z.string() }).parse(await response.clone().json()).refresh_token;
    return response;
  },
  plugin: () => fetch(`${service.url}/plugins/cost/plugin-manifest.json`),
};
/** Lets what a request left behind end. */
const quiet = () => new Promise((resolve) => setTimeout(resolve, 300));

const rounds = 5;
const common = (one: Set<string>, other: Set<string>) => new Set([...one].filter((file) => other.has(file)));

/** The files of a request, without those that run for every request. */
async function walk(name: string, request: () => Promise<Response>): Promise<Set<string>> {
  await quiet();
  await ran();
  await fetch(`${service.url}/api/v1/modules`);
  await quiet();
  const always = await ran();
  const response = await request();
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`${name}: ${response.status}`);
  return new Set([...(await ran())].filter((file) => !always.has(file)));
}

await cluster.kubernetes.apply(...mayListUsers);
// What is asked for the first time is kept afterwards: the walk is that of the request after it.
await eventually(walks['users list'], ({ status }) => status === 200);
const ofBearer = new Set<string>();
for (const [name, request] of Object.entries(walks)) {
  // What the service does by itself meanwhile is not there each time.
  let walked = await walk(name, request);
  for (let again = 1; again < rounds; again += 1) walked = common(walked, await walk(name, request));
  const files = [...walked].filter((file) => !(name === 'users list' && ofBearer.has(file)));
  if (name === 'bearer token') for (const file of files) ofBearer.add(file);
  console.log(`walk: ${name.padEnd(14)} ${String(files.length).padStart(6)} files`);
  if (process.argv.includes('--files'))
    console.log(
      files
        .toSorted()
        .map((file) => `  ${file}`)
        .join('\n'),
    );
}
await service.stop();
await cluster.stop();
await provider.stop();
process.exit();
