/**
 * Discovery, so that kubectl and client libraries with this address find the resources of the service. The feature that serves a resource
 * defines it and its permissions. Clients request it group by group, or aggregated.
 *
 * @see https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */
import { type JsonText, jsonText, sendJsonText } from '@atrium/http/json-answers.ts';
import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import type { Context } from 'koa';
import { z } from 'zod';

/** A cluster-scoped resource. Each resource of the service has its own group. */
interface ServedResource {
  group: string;
  version: string;
  resource: string;
  singular: string;
  kind: string;
  /** Verbs of the service. The cluster may offer more at its own address. */
  verbs: readonly string[];
  shortNames?: readonly string[];
  categories?: readonly string[];
}

const metaOf = ({ group, version }: ServedResource) => {
  const preferredVersion = { groupVersion: `${group}/${version}`, version };
  return { name: group, versions: [preferredVersion], preferredVersion };
};

/** APIGroup, meta/v1. */
const apiGroup = (served: ServedResource) => ({ kind: 'APIGroup' as const, apiVersion: 'v1' as const, ...metaOf(served) });

/** APIGroupList, meta/v1. */
const apiGroupList = (served: readonly ServedResource[]) => ({
  kind: 'APIGroupList' as const,
  apiVersion: 'v1' as const,
  groups: served.map(metaOf),
});

/** APIResourceList, meta/v1. */
function apiResourceList({ group, version, resource, singular, kind, verbs, shortNames, categories }: ServedResource) {
  const described = {
    name: resource,
    singularName: singular,
    namespaced: false,
    kind,
    verbs,
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
  };
  return { kind: 'APIResourceList' as const, apiVersion: 'v1' as const, groupVersion: `${group}/${version}`, resources: [described] };
}

/** APIGroupDiscoveryList, apidiscovery.k8s.io: the first request of clients since Kubernetes 1.27. */
const apiGroupDiscoveryList = (served: readonly ServedResource[], version: 'v2' | 'v2beta1') => ({
  kind: 'APIGroupDiscoveryList' as const,
  apiVersion: `apidiscovery.k8s.io/${version}` as const,
  metadata: {},
  items: served.map((one) => ({
    metadata: { name: one.group, creationTimestamp: null },
    versions: [{ version: one.version, freshness: 'Current', resources: [discoveredResource(one)] }],
  })),
});

const discoveredResource = ({ group, version, resource, singular, kind, verbs, shortNames, categories }: ServedResource) => ({
  resource,
  responseKind: { group, version, kind },
  scope: 'Cluster',
  singularResource: singular,
  verbs,
  ...(shortNames && { shortNames }),
  ...(categories && { categories }),
});

const groupVersion = z.object({ groupVersion: z.string(), version: z.string() });

const group = { name: z.string(), versions: z.array(groupVersion), preferredVersion: groupVersion };

const groupSchema = z.object({ kind: z.literal('APIGroup'), apiVersion: z.literal('v1'), ...group }).meta({ id: 'APIGroup' });

const groupListSchema = z
  .object({ kind: z.literal('APIGroupList'), apiVersion: z.literal('v1'), groups: z.array(z.object(group)) })
  .meta({ id: 'APIGroupList' });

const resourceListSchema = z
  .object({
    kind: z.literal('APIResourceList'),
    apiVersion: z.literal('v1'),
    groupVersion: z.string(),
    resources: z.array(
      z.object({
        name: z.string(),
        singularName: z.string(),
        namespaced: z.boolean(),
        kind: z.string(),
        verbs: z.array(z.string()),
        shortNames: z.array(z.string()).optional(),
        categories: z.array(z.string()).optional(),
      }),
    ),
  })
  .meta({ id: 'APIResourceList' });

const groupDiscoverySchema = z
  .object({
    kind: z.literal('APIGroupDiscoveryList'),
    apiVersion: z.enum(['apidiscovery.k8s.io/v2', 'apidiscovery.k8s.io/v2beta1']),
    metadata: z.object({}),
    items: z.array(
      z.object({
        metadata: z.object({ name: z.string(), creationTimestamp: z.iso.datetime().nullable() }),
        versions: z.array(
          z.object({
            version: z.string(),
            freshness: z.string(),
            resources: z.array(
              z.object({
                resource: z.string(),
                responseKind: z.object({ group: z.string(), version: z.string(), kind: z.string() }),
                scope: z.enum(['Cluster', 'Namespaced']),
                singularResource: z.string(),
                verbs: z.array(z.string()),
                shortNames: z.array(z.string()).optional(),
                categories: z.array(z.string()).optional(),
              }),
            ),
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'APIGroupDiscoveryList' });

const users: ServedResource = {
  group: 'auth.platform.io',
  version: 'v1',
  resource: 'users',
  singular: 'user',
  kind: 'User',
  verbs: ['get', 'list', 'watch'],
  shortNames: ['usr'],
  categories: ['platform-auth'],
};

const accessReviews: ServedResource = {
  group: 'authorization.orchestrator.io',
  version: 'v1',
  resource: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  kind: 'SelfSubjectAccessReview',
  verbs: ['create'],
};

const served = [users, accessReviews];

const json = 'application/json';
const aggregated = (version: 'v2' | 'v2beta1') => `${json};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;

/** Documents by media type. The plain one comes first, as the default. */
const everything = new Map<string, JsonText>([
  [json, jsonText(apiGroupList(served))],
  [aggregated('v2'), jsonText(apiGroupDiscoveryList(served, 'v2'))],
  [aggregated('v2beta1'), jsonText(apiGroupDiscoveryList(served, 'v2beta1'))],
]);

/** Returns operations without credentials, because discovery reveals no more than the documentation. */
export function discoveryOperations(): Operation[] {
  return [
    operation({
      id: 'ListGroupVersions',
      method: 'GET',
      paths: ['/apis'],
      ignoredQuery: 'all',
      tag,
      summary: 'Lists the API groups that this service serves',
      description: 'Includes all resources if the client accepts aggregated discovery (Kubernetes 1.27 and later).',
      credential: 'none',
      before: [compressed],
      answers: {
        200: {
          description: 'The groups.',
          content: {
            [json]: groupListSchema.meta({ examples: [apiGroupList(served)] }),
            [aggregated('v2')]: groupDiscoverySchema.meta({ examples: [apiGroupDiscoveryList(served, 'v2')] }),
            [aggregated('v2beta1')]: groupDiscoverySchema.meta({ examples: [apiGroupDiscoveryList(served, 'v2beta1')] }),
          },
          headers: revalidated,
        },
      },
      handle({ ctx }) {
        ctx.vary('Accept');
        const type = ctx.accepts([...everything.keys()]) || json;
        send(ctx, everything.get(type));
        if (type !== json) ctx.set('Content-Type', type);
      },
    }),
    ...described('UserGroup', ['/apis/auth.platform.io', '/apis/auth.platform.io/v1'], users),
    ...described('ReviewGroup', ['/apis/authorization.orchestrator.io', '/apis/authorization.orchestrator.io/v1'], accessReviews),
  ];
}

const tag = 'discovery';

const revalidated = { ETag: 'ETag of the text.' };

function described(id: string, [groupPath, versionPath]: readonly [string, string], resource: ServedResource): Operation[] {
  const group = apiGroup(resource);
  const resources = apiResourceList(resource);
  const [groupText, resourcesText] = [jsonText(group), jsonText(resources)];
  const answer = (description: string, schema: z.ZodType, example: unknown) => ({
    200: { description, content: { [json]: schema.meta({ examples: [example] }) }, headers: revalidated },
  });
  return [
    operation({
      id: `Get${id}`,
      method: 'GET',
      paths: [groupPath],
      ignoredQuery: 'all',
      tag,
      summary: `Lists the versions of ${resource.group}`,
      credential: 'none',
      answers: answer('The group.', groupSchema, group),
      handle: ({ ctx }) => send(ctx, groupText),
    }),
    operation({
      id: `Get${id}Resources`,
      method: 'GET',
      paths: [versionPath],
      ignoredQuery: 'all',
      tag,
      summary: `Lists the resources of ${resource.group}/${resource.version}, with their verbs`,
      credential: 'none',
      answers: answer('The resources.', resourceListSchema, resources),
      handle: ({ ctx }) => send(ctx, resourcesText),
    }),
  ];
}

/** Sends a document that clients revalidate each time, so that an upgrade takes effect at once. */
function send(ctx: Context, text: JsonText | undefined): void {
  if (text === undefined) return;
  ctx.set('Cache-Control', 'no-cache');
  sendJsonText(ctx, text);
}
