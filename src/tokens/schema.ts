import type { ListProperties } from '@atrium/lists/properties.ts';
import { folded } from '@atrium/objects/folded.ts';
import { clusterMember, objectMeta, shownLabel } from '@atrium/objects/object-schemas.ts';
import { z } from 'zod';
import { tokenScope } from './scope.ts';
import type { AccessTokenRow } from './store.ts';

/** Properties by which access tokens are selected, filtered and sorted. */
export const accessTokenProperties: ListProperties<AccessTokenRow> = {
  searched: new Map<string, (row: AccessTokenRow) => string>([
    ['name', (row) => row.name],
    ['description', (row) => folded(row.description)],
  ]),
  search: ['name', 'description'],
  compared: new Map<string, (row: AccessTokenRow) => string>([['owner', (row) => row.owner]]),
  sorted: new Map<string, (row: AccessTokenRow) => string | number | undefined>([
    ['name', (row) => row.name],
    ['owner', (row) => row.owner],
    ['description', (row) => folded(row.description)],
    ['creationTimestamp', (row) => row.createdAt],
    ['expiration', (row) => row.expiresAt],
    ['lastUsedTime', (row) => row.lastUsedAt],
  ]),
  selectable: new Map<string, (row: AccessTokenRow) => string>([
    ['metadata.name', (row) => row.name],
    ['spec.owner', (row) => row.owner],
  ]),
  defaultSort: 'd,creationTimestamp',
};

const time = z.iso.datetime();

export const accessTokenObject = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('AccessToken'),
    metadata: objectMeta,
    spec: z.object({
      cluster: clusterMember,
      owner: z.string().describe('Name of the User record.'),
      ownerEmail: z.string().optional().describe('E-mail address or login name of the owner.'),
      subject: z
        .object({ issuer: z.string(), sub: z.string() })
        .optional()
        .describe('Account at an external issuer that created the token. The token ends when the user loses that account.'),
      exchange: z
        .object({ issuer: z.string(), subject: z.string() })
        .optional()
        .describe('Token of a workload that this one was exchanged for.'),
      description: z.string(),
      scope: tokenScope.optional(),
      issuedAt: time,
      expiration: time.optional(),
    }),
    status: z.object({ lastUsedTime: time.optional().describe('Time of the last use, accurate to five minutes.') }).optional(),
  })
  .meta({
    id: 'AccessToken',
    examples: [
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'AccessToken',
        metadata: {
          name: '4k2vqx7m5cabdefg',
          uid: 'c1f6f5a3-2f43-4a8e-9a54-6f0d5c1a7e21',
          resourceVersion: '52100',
          creationTimestamp: '2026-03-01T11:00:00Z',
        },
        spec: {
          cluster: 'local',
          owner: '8c87b489ce35cf2e2f39f80e282cb2e8',
          ownerEmail: 'jane@example.com',
          description: 'ci',
          issuedAt: '2026-03-01T11:00:00Z',
          expiration: '2026-05-30T11:00:00Z',
        },
        status: { lastUsedTime: '2026-03-02T08:15:00Z' },
      },
    ],
  });

export const newAccessTokenBody = z
  .strictObject({
    cluster: clusterMember,
    description: shownLabel(64, z.string().trim().min(1, 'must not be empty')).describe('Purpose of the token.'),
    expiration: z
      .int({ error: 'must be whole seconds since 1970' })
      .min(0, 'must be whole seconds since 1970')
      .default(0)
      .describe('Expiry in Unix seconds, at most `users.accessTokens.maxDays` from now. 0: after `users.accessTokens.defaultDays`.'),
    scope: tokenScope.optional(),
  })
  .meta({ examples: [{ description: 'ci', expiration: 0 }] });

export type NewAccessToken = z.output<typeof newAccessTokenBody>;

export const createdAccessToken = z
  .object({
    id: z.string().describe('Name of the AccessToken.'),
    token: z.string().optional().describe('Secret token, never returned again. Missing in the answer to a dry run.'),
    timestamp: z.int().describe('Time of creation in Unix seconds.'),
    expiration: z.int().describe('Expiry in Unix seconds.'),
    description: z.string(),
    scope: tokenScope.optional(),
  })
  .meta({
    id: 'CreatedAccessToken',
    examples: [
      { id: '4k2vqx7m5cabdefg', token: 'cat_4k2vqx7m5cabdefg_…', timestamp: 1772362800, expiration: 1780138800, description: 'ci' },
    ],
  });

export type CreatedAccessToken = z.output<typeof createdAccessToken>;

/** API versions in which API servers send reviews; the answer must have the version of the request. */
const reviewVersion = z.enum(['authentication.k8s.io/v1', 'authentication.k8s.io/v1beta1']);

/** @see https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/ */
export const tokenReviewBody = z
  .object({
    apiVersion: reviewVersion.default('authentication.k8s.io/v1'),
    kind: z.literal('TokenReview').default('TokenReview'),
    spec: z.object({ token: z.string().min(1, 'must not be empty'), audiences: z.array(z.string()).nullish() }),
  })
  .meta({ examples: [{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'cat_4k2vqx7m5cabdefg_…' } }] });

export type TokenReviewRequest = z.output<typeof tokenReviewBody>;

export const tokenReview = z
  .object({
    apiVersion: reviewVersion,
    kind: z.literal('TokenReview'),
    metadata: z.object({}),
    spec: z.object({}).describe('Empty, because no answer contains a token.'),
    status: z.object({
      authenticated: z.boolean(),
      user: z
        .object({
          username: z.string(),
          uid: z.string(),
          groups: z.array(z.string()),
          extra: z.record(z.string(), z.array(z.string())),
        })
        .optional(),
      error: z.string().optional().describe('Reason why an access token is refused.'),
    }),
  })
  .meta({
    id: 'TokenReview',
    examples: [
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        metadata: {},
        spec: {},
        status: {
          authenticated: true,
          user: { username: 'jane@example.com', uid: '0b0f4a52-7d41-4d8e-9f1b-3f0f6d2f6c1e', groups: ['dev'], extra: {} },
        },
      },
    ],
  });

export type TokenReview = z.output<typeof tokenReview>;
