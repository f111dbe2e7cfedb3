/** Addresses of each page of the route table in the demo. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Demo } from './demo.ts';

/** Addresses of patterns with parameters. Words in capitals are names that the demo makes. */
const addresses: Readonly<Record<string, readonly string[]>> = {
  '/users/:name/:tab?': ['/users/JANE', '/users/JANE/roles', '/users/JANE/history', '/users/SELF/factors'],
  '/groups/:name/:tab?': ['/groups/dev', '/groups/dev/roles'],
  '/bindings/:name': ['/bindings/oncall-view'],
  '/requests/:name': ['/requests/REQUEST'],
  // The demo has no agent that proposes a change: console-proposals.test.ts opens the page.
  '/proposals/:name': [],
  '/explorer/:tab?': ['/explorer', '/explorer/rights', '/explorer/standing', '/explorer/simulate'],
  '/activity/:tab?/:id?': ['/activity', '/activity/recordings', '/activity/events/demo-24'],
  '/events/:namespace?': ['/events', '/events/shop'],
  '/r/:group/:version/:resource': ['/r/core/v1/nodes', '/r/core/v1/pods', '/r/apps/v1/deployments', '/r/core/v1/serviceaccounts'],
  '/r/:group/:version/:resource/ns/:namespace': ['/r/core/v1/pods/ns/shop'],
  '/r/:group/:version/:resource/ns/:namespace/:name/:tab?': [
    '/r/apps/v1/deployments/ns/shop/storefront',
    '/r/core/v1/configmaps/ns/atrium-system/console-logo',
    '/r/core/v1/configmaps/ns/atrium-system/console-logo/yaml',
    '/r/core/v1/services/ns/shop/storefront',
    '/r/core/v1/pods/ns/shop/POD',
    '/r/core/v1/pods/ns/shop/POD/logs',
    '/r/core/v1/pods/ns/shop/POD/events',
    '/r/core/v1/pods/ns/shop/POD/terminal',
  ],
  '/r/:group/:version/:resource/:name/:tab?/:rest?': ['/r/core/v1/namespaces/shop', '/r/core/v1/nodes/node-1'],
  '/new/:group/:version/:resource': ['/new/core/v1/namespaces'],
  '/new/:group/:version/:resource/ns/:namespace': ['/new/core/v1/configmaps/ns/shop'],
  '/x/:plugin/:path*': ['/x/cost-report'],
};

const table = await readFile(new URL('../../../web/src/shell/pages.ts', import.meta.url), 'utf8');
/** Patterns of the route table. */
export const patterns = [...table.matchAll(/\bpattern: '([^']+)'/g)].map(([, pattern = '']) => pattern);

/** A pattern with parameters that has no address stands for itself, and its page does not exist. */
export const routePaths = patterns.flatMap((pattern) => addresses[pattern] ?? [pattern]);

const listed = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

/** Returns a function that replaces the words in capitals by names of the demo. */
export async function routeNames(demo: Demo): Promise<(path: string) => string> {
  const headers = { authorization: `Bearer ${demo.person('admin').token}` };
  const nameIn = async (path: string) => {
    const answer: unknown = await (await fetch(`${demo.url}${path}`, { headers })).json();
    const [first] = listed.parse(answer).items;
    return first?.metadata.name ?? '';
  };
  const names: Record<string, string> = {
    JANE: await nameIn('/auth/v2/users?search=jane@example.com'),
    SELF: await nameIn(`/auth/v2/users?search=${demo.person('admin').email}`),
    REQUEST: await nameIn('/auth/v1/accessrequests'),
    POD: await nameIn('/api/kubernetes/api/v1/namespaces/shop/pods?limit=1'),
  };
  return (path) => path.replace(/[A-Z]{3,}/, (word) => names[word] ?? word);
}
