/**
 * In which namespaces a caller may do something: for people who may not list namespaces, and for every page that offers a choice of them.
 * Whether they may, the API server says; the roles and namespaces that the service watches only spare asking about each.
 */

import { Lister } from '../collection/lister.ts';
import { sendPage } from '../collection/page.ts';
import { listAnswer } from '../collection/schema.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { WatchCache, type WatchCacheParts } from '../kubernetes/watch-cache.ts';
import type { RbacWatch } from '../rbac/watch.ts';
import { type NamespaceRow, namespaceProperties, namespaceRow } from './namespace-row.ts';
import { namespaceList, namespacesQuery } from './namespaces-schema.ts';
import { NamespacesService } from './namespaces-service.ts';

export interface NamespacesOptions {
  client: ServiceClient;
  access: AccessReviews;
  /** With the rules of roles. */
  rbac: RbacWatch;
  keyRing: KeyRing;
  metrics: Metrics;
  log: WatchCacheParts['log'];
  now?: () => Date;
}

/** The feature: its one operation, and what it watches. */
export interface Namespaces {
  operations: Operation[];
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

export function createNamespaces(options: NamespacesOptions): Namespaces {
  const { keyRing } = options;
  const type = { group: '', version: 'v1', resource: 'namespaces' };
  const namespaces = new WatchCache<NamespaceRow>(options, { name: 'namespaces', type, isMetadataOnly: true, keep: namespaceRow });
  const lister = new Lister({
    ...options,
    cache: namespaces,
    name: type.resource,
    properties: namespaceProperties,
    apiVersion: 'v1',
    listKind: 'NamespaceList',
    seal: keyRing.sealFor('continue'),
    keysSettled: () => keyRing.settled(),
  });
  const service = new NamespacesService({ ...options, namespaces, lister });
  return {
    operations: [listNamespaces(service)],
    checks: [
      {
        name: 'namespaces',
        critical: false,
        isAwaited: true,
        failure: () => namespaces.missing(),
      },
    ],
    start: () => namespaces.start(),
    stop: () => namespaces.stop(),
  };
}

const listNamespaces = (service: NamespacesService): Operation =>
  operation({
    id: 'ListNamespaces',
    method: 'GET',
    paths: ['/auth/v1/namespaces'],
    tag: 'access',
    summary: 'Lists the namespaces in which the caller may do something',
    description:
      'Needs no right to list namespaces, and tells of no other. Of a namespace its name, labels and times are shown. An answer may be as old as `kubernetes.accessCache`.',
    credential: 'required',
    isCompressed: true,
    query: namespacesQuery,
    answers: {
      200: { ...listAnswer(namespaceList), description: 'The list, or one page of it; `total` is how many the caller may know of.' },
      400: { description: 'Without `verb` or `resource`, or with a parameter that cannot be.' },
      403: { description: 'The cluster has taken the right to ask away.' },
      410: { description: '`continue` is too old; start again without it.' },
    },
    async handle({ ctx, caller, query, signal }) {
      sendPage(ctx, await service.list(query, caller, signal));
    },
  });
