/** Request and response of `PUT /auth/v1/users/sync`. */
import { wholeNumber } from '@atrium/http/input.ts';
import { z } from 'zod';
import { userApiVersion } from '../users/record/schema.ts';

export const syncBody = z
  .strictObject({
    connector_id: z.string().min(1).max(63).optional().describe('Id of a directory in `users.ldap`. Default: all directories.'),
    dryRun: z.boolean().optional().describe('Reads and counts everything, and writes nothing.'),
    force: z
      .boolean()
      .optional()
      .describe('Allows more than `users.sync.maxInvalidPercent` of the users of a directory to become invalid.'),
  })
  .optional()
  .meta({ examples: [{ connector_id: 'corp-ldap', dryRun: true }] });

export const syncQuery = z.object({
  timeoutSeconds: wholeNumber({ max: 300 }).default(60).describe('Seconds to wait for the end before the answer is 202.'),
});

const count = z.int().min(0);

const syncError = z.object({
  reason: z.string(),
  message: z.string(),
  entry: z.string().optional().describe('Distinguished name of the entry.'),
});

const connectorResult = z
  .object({
    connector_id: z.string(),
    connector_type: z.literal('ldap'),
    status: z.enum(['Success', 'Failed']),
    fetched: count.describe('Entries that the directory listed.'),
    created: count,
    updated: count,
    unchanged: count,
    linked: count.describe('Users of another source, or without a source, that have the e-mail address of an entry.'),
    restored: count.describe('Invalid users whose entry exists again.'),
    invalidated: count.describe('Users whose entry no longer exists.'),
    failed: count.describe('Entries that could not become users.'),
    errors: z.array(syncError).describe('The first 20 errors.'),
    warnings: z
      .array(syncError)
      .default([])
      .describe(
        'The first 20 hints for administrators: what the directory has and the synchronisation does not follow, and users whose entry has changed.',
      ),
  })
  .meta({ id: 'UserSyncConnectorResult' });

const completed = {
  apiVersion: userApiVersion,
  kind: 'UserSyncResult',
  dryRun: false,
  state: 'Completed',
  startedAt: '2026-03-01T11:00:00Z',
  finishedAt: '2026-03-01T11:00:04Z',
  connectors: [
    {
      connector_id: 'corp-ldap',
      connector_type: 'ldap',
      status: 'Success',
      fetched: 120,
      created: 3,
      updated: 5,
      unchanged: 110,
      linked: 1,
      restored: 1,
      invalidated: 2,
      failed: 0,
      errors: [],
      warnings: [],
    },
  ],
};

export const syncResult = z
  .object({
    apiVersion: z.literal(userApiVersion),
    kind: z.literal('UserSyncResult'),
    dryRun: z.boolean(),
    state: z.enum(['Running', 'Completed', 'Interrupted']),
    startedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().optional(),
    connectors: z.array(connectorResult),
  })
  .meta({ id: 'UserSyncResult', examples: [completed] });

export type ConnectorResult = z.output<typeof connectorResult>;
export type SyncError = z.output<typeof syncError>;
export type SyncResult = z.output<typeof syncResult>;
