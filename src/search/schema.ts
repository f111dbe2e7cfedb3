import { wholeNumber } from '@atrium/http/input.ts';
import { wantedText } from '@atrium/objects/folded.ts';
import { z } from 'zod';
import { fields, ranks } from './match.ts';

const maxLength = 128;
const maxItems = 20;

export const searchQuery = z.object({
  q: z
    .string()
    .trim()
    .min(1, 'must be given: the text to search for')
    .max(maxLength, `must have at most ${maxLength} characters`)
    .refine((text) => wantedText(text) !== '', 'must be given: the text to search for')
    .describe(
      `Part of a name, of the value of a label, or of an image; with \`=\`, part of a label as \`key=value\`. Case is ignored. At most ${maxLength} characters.`,
    ),
  kinds: z
    .array(z.string())
    .default([])
    .describe(
      'Kinds to search, such as `pods,deployments.apps,users.auth.platform.io`. Default: users, groups and all of `lists.resources`.',
    ),
  namespace: z
    .string()
    .max(253)
    .default('')
    .describe('Namespace to search, without cluster-scoped objects. Default: all namespaces in which the caller may list.'),
  limit: wholeNumber({ cap: maxItems })
    .default(maxItems)
    .describe(`Maximum number of objects of each kind, 1 to ${maxItems}. A larger number is reduced to ${maxItems}.`),
});

export type SearchParameters = z.output<typeof searchQuery>;

const type = z.object({ group: z.string(), version: z.string(), resource: z.string() });

const found = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string().optional(), uid: z.string() }),
  title: z.string().optional().describe('The display name of a user or group.'),
  detail: z.string().optional().describe('The e-mail address of a user, or the state of another object.'),
  match: z.object({
    rank: z.enum(ranks).describe('Rank of the match. `Word`: a word begins with the text.'),
    field: z.enum(fields),
    text: z.string().describe('The name, the label as `key=value`, or the image.'),
  }),
});

const foundKind = type.extend({
  scope: z.enum(['Cluster', 'Namespaces']).describe('`Namespaces` if only the namespaces were searched in which the caller may list.'),
  total: z.int().describe('Number of matching objects.'),
  items: z.array(found).describe('The best matches, best first.'),
});

const unsearchedKind = type.extend({
  reason: z
    .enum(['Forbidden', 'NotInstalled', 'Unavailable', 'Disabled'])
    .describe(
      'Reason: the caller may not list the kind, the API server does not serve it, its objects are not loaded, or the configuration does not list it.',
    ),
  message: z.string(),
});

export type FoundObject = z.output<typeof found>;
export type FoundKind = z.output<typeof foundKind>;
export type UnsearchedKind = z.output<typeof unsearchedKind>;

export const searchResult = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('SearchResult'),
    kinds: z.array(foundKind).describe('All searched kinds, the one with the best match first.'),
    unsearched: z.array(unsearchedKind).describe('Kinds that were not searched, with the reason. Their objects are unknown.'),
  })
  .meta({
    id: 'SearchResult',
    examples: [
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'SearchResult',
        kinds: [
          {
            group: 'apps',
            version: 'v1',
            resource: 'deployments',
            scope: 'Namespaces',
            total: 1,
            items: [
              {
                metadata: { name: 'web', namespace: 'shop', uid: '0b0f0f6e-3f9c-4a53-8b1f-6a1d8f2f4a11' },
                match: { rank: 'Exact', field: 'name', text: 'web' },
              },
            ],
          },
        ],
        unsearched: [
          {
            group: '',
            version: 'v1',
            resource: 'nodes',
            reason: 'Forbidden',
            message: 'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
          },
        ],
      },
    ],
  });

export type SearchResult = z.output<typeof searchResult>;
