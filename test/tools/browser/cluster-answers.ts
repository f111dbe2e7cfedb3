/** Answers of an API server that the demo's cluster cannot give. The browser gets them instead of the service's answers. */
import type { Page, Request } from 'playwright-core';

interface Answer {
  status?: number;
  /** JSON text, sent unchanged. */
  body: string;
}

type Answers = Readonly<Record<string, (request: Request) => Answer>>;

interface AddedKind {
  group: string;
  resource: string;
  kind: string;
  isNamespaced?: boolean;
  verbs?: readonly string[];
}

const allVerbs = ['create', 'delete', 'get', 'list', 'patch', 'update'];

/** An entry of aggregated discovery. */
const discovered = ({ group, resource, kind, isNamespaced = true, verbs = allVerbs }: AddedKind) => ({
  metadata: { name: group },
  versions: [
    {
      version: 'v1',
      freshness: 'Current',
      resources: [
        { resource, verbs, scope: isNamespaced ? 'Namespaced' : 'Cluster', responseKind: { group, version: 'v1', kind }, subresources: [] },
      ],
    },
  ],
});

/** Adds an entry to the groups of the cluster. */
export async function addToDiscovery(page: Page, ...entries: readonly unknown[]): Promise<void> {
  await page.route('**/api/kubernetes/apis', async (route) => {
    const response = await route.fetch();
    const { items, ...list } = (await response.json()) as { items: unknown[] };
    await route.fulfill({ response, json: { ...list, items: [...items, ...entries] } });
  });
}

/** Adds a pod to the cluster, with the answers that its page requests. */
export async function addPod(page: Page, name: string): Promise<void> {
  await page.route('**/api/kubernetes/api', async (route) => {
    const response = await route.fetch();
    const { items } = (await response.json()) as { items: { versions: { resources: unknown[] }[] }[] };
    items[0]?.versions[0]?.resources.push({
      ...{ resource: 'pods', scope: 'Namespaced', verbs: ['get', 'list'], responseKind: { group: '', version: 'v1', kind: 'Pod' } },
      subresources: [{ subresource: 'log' }],
    });
    await route.fulfill({ response, json: { items } });
  });
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', uid: `u-${name}`, resourceVersion: '1' } },
    spec: { containers: [{ name: 'main' }] },
  };
  await page.route(`**/api/kubernetes/api/v1/namespaces/default/pods/${name}`, (route) => route.fulfill({ json: pod }));
}

/** Adds a kind to the cluster. @param answers by method and path below the version, such as `GET /things` */
export async function addKind(page: Page, added: AddedKind, answers: Answers): Promise<void> {
  await addToDiscovery(page, discovered(added));
  const root = `/api/kubernetes/apis/${added.group}/v1`;
  await page.route(`**/api/kubernetes/openapi/v3/apis/${added.group}/v1*`, (route) =>
    route.fulfill({ contentType: 'application/json', body: '{"openapi":"3.0.0","paths":{},"components":{"schemas":{}}}' }),
  );
  await page.route(`**${root}/**`, async (route) => {
    const request = route.request();
    const path = new URL(request.url()).pathname.replace(root, '');
    const answer = answers[`${request.method()} ${path}`]?.(request);
    if (answer === undefined) await route.fulfill({ status: 404, json: { kind: 'Status', reason: 'NotFound', code: 404 } });
    else await route.fulfill({ status: answer.status ?? 200, contentType: 'application/json', body: answer.body });
  });
}

export interface StubPod {
  name: string;
  labels: Readonly<Record<string, string>>;
  containers: readonly string[];
  /** Identifier of the containers' run, which changes with each start. */
  run?: string;
  restarts?: number;
}

const ownedBy = (kind: string, uid: string) => ({ ownerReferences: [{ apiVersion: 'apps/v1', kind, name: uid, uid, controller: true }] });

const podOf = ({ name, labels, containers, run = 'run-1', restarts = 0 }: StubPod) => ({
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: { name, namespace: 'default', uid: `u-${name}`, resourceVersion: '1', labels, ...ownedBy('ReplicaSet', 'u-set') },
  spec: { containers: containers.map((container) => ({ name: container })) },
  status: {
    containerStatuses: containers.map((container) => ({
      ...{ name: container, restartCount: restarts, containerID: `${container}-${run}` },
      state: { running: {} },
    })),
  },
});

/**
 * Lists pods of a Deployment in the namespace `default`, and sends changes to watches.
 *
 * @param deployment its uid
 * @returns a function that replaces the pods
 */
export async function addPods(page: Page, deployment: string, pods: readonly StubPod[]): Promise<(next: readonly StubPod[]) => void> {
  let current = pods;
  const set = { metadata: { name: 'u-set', uid: 'u-set', ...ownedBy('Deployment', deployment) } };
  await page.route(/\/namespaces\/default\/replicasets\?/, async (route) => {
    const isWatch = new URL(route.request().url()).searchParams.has('watch');
    // The watch reports no change.
    await (isWatch ? route.fulfill({ body: '' }) : route.fulfill({ json: { metadata: { resourceVersion: '1' }, items: [set] } }));
  });
  let changed = Promise.withResolvers<void>();
  await page.route(/\/api\/v1\/namespaces\/default\/pods\?/, async (route) => {
    if (!new URL(route.request().url()).searchParams.has('watch')) {
      await route.fulfill({ json: { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: current.map(podOf) } });
      return;
    }
    await changed.promise;
    const [pod] = current;
    if (pod === undefined) await route.fulfill({ body: '' });
    else await route.fulfill({ body: `${JSON.stringify({ type: 'MODIFIED', object: podOf(pod) })}\n` });
  });
  return (next) => {
    current = next;
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
}

/** Returns a Table as the API server does. @param rows name and further cells */
export function tableOf(columns: readonly string[], rows: readonly { cells: readonly unknown[]; metadata: object }[]): string {
  return JSON.stringify({
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: '1000' },
    columnDefinitions: columns.map((name) => ({
      name,
      type: 'string',
      format: name === 'Name' ? 'name' : '',
      description: '',
      priority: 0,
    })),
    rows: rows.map(({ cells, metadata }) => ({ cells, object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata } })),
  });
}
