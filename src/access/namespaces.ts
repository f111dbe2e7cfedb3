/**
 * Namespaces in which a caller may do something, for users who may not list namespaces, and for pages that offer a choice of them. The
 * API server decides; the watched roles and namespaces only reduce the number of reviews.
 */
import type { Caller } from '@atrium/http/caller.ts';
import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { questionQuery } from '@atrium/kubernetes/rbac/rules.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { collection } from '@atrium/lists/collection.ts';
import type { Lister } from '@atrium/lists/lister.ts';
import { type Page, sendPage } from '@atrium/lists/page.ts';
import type { ListProperties, ListRow } from '@atrium/lists/properties.ts';
import { holderOf, type Scope } from '@atrium/lists/query.ts';
import { listAnswer, listQuery, listSchema } from '@atrium/lists/schema.ts';
import { z } from 'zod';
import type { Feature, Services } from '../services.ts';
import { AllowedNamespaces, isIn, namesKey } from './allowed-namespaces.ts';

/** The cached part of a namespace: properties for lists, and the JSON text for answers. */
interface NamespaceRow extends ListRow {
  /** Unix time. */
  readonly creationSeconds: number;
}

/** Returns the row of a namespace. Called once for each change. Omits the uid and annotations, which its users need not know. */
function namespaceRow({ metadata }: KubernetesObject): NamespaceRow {
  const { name, labels = {}, creationTimestamp, deletionTimestamp } = metadata;
  const served = { name, labels, creationTimestamp, ...(deletionTimestamp !== undefined && { deletionTimestamp }) };
  return {
    name,
    labels,
    text: JSON.stringify({ metadata: served }),
    creationSeconds: Math.floor(Date.parse(creationTimestamp) / 1000),
  };
}

const namespaceProperties: ListProperties<NamespaceRow> = {
  searched: new Map([['name', ({ name }) => name]]),
  search: ['name'],
  compared: new Map(),
  sorted: new Map<string, (row: NamespaceRow) => string | number>([
    ['name', ({ name }) => name],
    ['creationTimestamp', ({ creationSeconds }) => creationSeconds],
  ]),
  selectable: new Map([['metadata.name', ({ name }) => name]]),
  defaultSort: 'a,name',
};

const list = listQuery(namespaceProperties);

const namespacesQuery = list.extend(questionQuery);

type NamespacesQuery = z.output<typeof namespacesQuery>;

const namespace = z
  .object({
    metadata: z.object({
      name: z.string(),
      labels: z.record(z.string(), z.string()),
      creationTimestamp: z.string().describe('RFC 3339.'),
      deletionTimestamp: z.string().optional().describe('Time of the deletion request.'),
    }),
  })
  .meta({
    id: 'AllowedNamespace',
    examples: [
      { metadata: { name: 'shop', labels: { 'kubernetes.io/metadata.name': 'shop' }, creationTimestamp: '2026-01-12T08:30:00Z' } },
    ],
  });

const namespaceList = listSchema(namespace, { apiVersion: 'v1', kind: 'NamespaceList' });

/** The feature: its operation, checks and watches. */
export interface Namespaces extends Feature {
  /** Allowed namespaces for other features. @throws StatusError 429, 503, 504, and refusals of a review by the API server */
  allowed: Pick<AllowedNamespaces, 'of'>;
}

/** Reports whether a feature needs the namespaces in which a caller may do something. */
export const followsNamespaces = ({ features, lists }: Services['config']): boolean => features.namespaces || lists.resources.length > 0;

export function createNamespaces(services: Services): Namespaces {
  const namespaces = collection<NamespaceRow>(services, {
    resource: { group: '', version: 'v1', resource: 'namespaces' },
    kind: 'Namespace',
    isMetadataOnly: true,
    row: namespaceRow,
    properties: namespaceProperties,
  });
  const allowed = new AllowedNamespaces(services, namespaces.cache);
  return {
    allowed: {
      async of(question, caller, signal) {
        await namespaces.lister.whenReady(signal);
        return allowed.of(question, caller, signal);
      },
    },
    operations: services.config.features.namespaces
      ? [listNamespaces((...asked) => pageOf({ services, lister: namespaces.lister, allowed }, ...asked))]
      : [],
    checks: [namespaces.check],
    start: () => namespaces.start(),
    stop: () => namespaces.stop(),
  };
}

const listNamespaces = (list: (query: NamespacesQuery, caller: Caller, signal: AbortSignal) => Promise<Page>): Operation =>
  operation({
    id: 'ListNamespaces',
    method: 'GET',
    paths: ['/auth/v1/namespaces'],
    tag: 'access',
    summary: 'Lists the namespaces in which the caller may perform an action',
    description:
      'Requires no right to list namespaces, and shows no other namespace. Shows name, labels and times of a namespace. Answers are cached for `kubernetes.accessCache`.',
    credential: 'required',
    before: [compressed],
    query: namespacesQuery,
    viewAs: () => ({ verb: 'list', group: '', resource: 'namespaces' }),
    answers: {
      200: {
        ...listAnswer(namespaceList),
        description: 'The list, or a page of it. `total` counts the namespaces that the caller may see.',
      },
      400: { description: '`verb` or `resource` is missing, or a parameter is invalid.' },
      403: { description: 'The cluster does not allow access reviews to the caller.' },
      410: { description: '`continue` is too old; start again without it.' },
    },
    async handle({ ctx, caller, query, signal }) {
      sendPage(ctx, await list(query, caller, signal));
    },
  });

interface NamespacesContext {
  services: Services;
  lister: Lister<NamespaceRow>;
  allowed: AllowedNamespaces;
}

/**
 * Returns a NamespaceList of the namespaces in which the caller may do something, and reveals no others.
 *
 * @throws StatusError 400, 410, 429, 503, 504, and refusals of a review by the API server
 */
async function pageOf(
  { services: { rbac }, lister, allowed }: NamespacesContext,
  parameters: NamespacesQuery,
  caller: Caller,
  signal: AbortSignal,
): Promise<Page> {
  const { verb, group, resource, subresource } = parameters;
  const question = { verb, group, resource, subresource };
  // Continue tokens of a view are for it alone.
  const holder = caller.viewing && { holder: holderOf(caller) };
  await lister.whenReady(signal, parameters, holder && { key: '', fits: undefined, ...holder });
  rbac.requireSynced();
  const forecast = await allowed.forecast(question, caller, signal);
  const page = (scope: Scope<NamespaceRow>) => lister.list(parameters, signal, { ...scope, ...holder });
  const told = await allowed.reviewedIfFew(forecast, question, caller, signal);
  if (told !== undefined) return page(scopeOf(told));
  const first = await page({
    key: forecast.allowed === 'all' ? 'all' : namesKey(forecast.allowed),
    fits: ({ name }) => isIn(forecast.allowed, name),
  });
  // A page of many namespaces gets a whole review, because a cached review of each would be too many.
  if (!first.isHeld) return page(scopeOf(await allowed.review(forecast, question, caller, signal)));
  if (await allowed.confirm(first.names, question, caller, signal)) return first;
  return page(scopeOf(await allowed.review({ ...forecast, mismatch: 'overestimated' }, question, caller, signal)));
}

const scopeOf = (names: ReadonlySet<string>): Scope<NamespaceRow> => ({ key: namesKey(names), fits: ({ name }) => names.has(name) });
