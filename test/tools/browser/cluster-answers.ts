/** Answers of an API server that the demo's cluster does not give: the browser gets them in the place of the service's. */
import type { Page, Request } from 'playwright-core';

interface Answer {
  status?: number;
  /** JSON text, as written. */
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
async function addToDiscovery(page: Page, ...entries: readonly unknown[]): Promise<void> {
  await page.route('**/api/kubernetes/apis', async (route) => {
    const response = await route.fetch();
    const { items, ...list } = (await response.json()) as { items: unknown[] };
    await route.fulfill({ response, json: { ...list, items: [...items, ...entries] } });
  });
}

/** Adds a kind to the cluster. @param answers by method and path below the version, such as `GET /things` */
export async function addKind(page: Page, added: AddedKind, answers: Answers): Promise<void> {
  await addToDiscovery(page, discovered(added));
  const root = `/api/kubernetes/apis/${added.group}/v1`;
  await page.route(`**${root}/**`, async (route) => {
    const request = route.request();
    const path = new URL(request.url()).pathname.replace(root, '');
    const answer = answers[`${request.method()} ${path}`]?.(request);
    if (answer === undefined) await route.fulfill({ status: 404, contentType: 'application/json', body: '{"kind":"Status","code":404}' });
    else await route.fulfill({ status: answer.status ?? 200, contentType: 'application/json', body: answer.body });
  });
}

/** A Table as the API server makes it. @param rows name and cells behind it */
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
