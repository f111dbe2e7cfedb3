import { z } from 'zod';

const groupVersion = z.object({ groupVersion: z.string(), version: z.string() });

const group = { name: z.string(), versions: z.array(groupVersion), preferredVersion: groupVersion };

export const groupSchema = z.object({ kind: z.literal('APIGroup'), apiVersion: z.literal('v1'), ...group }).meta({ id: 'APIGroup' });

export const groupListSchema = z
  .object({ kind: z.literal('APIGroupList'), apiVersion: z.literal('v1'), groups: z.array(z.object(group)) })
  .meta({ id: 'APIGroupList' });

export const resourceListSchema = z
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

export const groupDiscoverySchema = z
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
