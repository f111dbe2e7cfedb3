/** Settings of the audit trail, and of `atrium audit-store`. */
import { z } from 'zod';
import { httpURLWithoutQuery } from './formats.ts';
import { isUnique, path } from './units.ts';

const store = z.strictObject({
  url: httpURLWithoutQuery().describe('Address of `atrium audit-store`, which keeps the events of requests.'),
  caFile: path().optional().describe('PEM certificate authority of the audit store, beside those of the system. Reread after a failure.'),
  tokenFile: path()
    .default('/var/run/secrets/atrium/audit-store/token')
    .describe('Token of the service account with the audience `atrium-audit-store`. Reread within a minute.'),
});

export const auditSection = z.strictObject({
  kubernetesEvents: z.boolean().default(true).describe('Records audit events of an object as Kubernetes Events too.'),
  store: store.optional().describe('The [audit store](audit.md). Without it no events of requests are kept.'),
});

const serviceAccount = () =>
  z
    .string()
    .regex(
      /^system:serviceaccount:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/,
      'must be system:serviceaccount:NAMESPACE:NAME',
    );

const postgres = z.strictObject({
  urlFile: path().describe(
    'File with the address, `postgresql://USER:PASSWORD@HOST:5432/DATABASE`, as a mounted Secret has it. The password is reread for each connection.',
  ),
  caFile: path().optional().describe('PEM certificate authority of the server, beside those of the system. Read at the start.'),
});

export const auditStoreSection = z.strictObject({
  // The first start creates the file, so that its path is no file to check.
  databaseFile: z
    .string()
    .min(1)
    .default('/var/lib/atrium/audit.db')
    .describe('SQLite file with the events, on a volume of its own. Ignored with `postgres`.'),
  postgres: postgres.optional().describe('PostgreSQL in place of the file.'),
  callers: z
    .array(serviceAccount())
    .refine(isUnique, 'must not hold an account twice')
    .default([])
    .describe('Service accounts that may append and query events: that of Atrium. Required by `atrium audit-store`.'),
});
