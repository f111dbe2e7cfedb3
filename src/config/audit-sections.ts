/** Settings of the audit trail, and of `atrium audit-store`. */
import { z } from 'zod';
import { auditPolicy } from './audit-policy.ts';
import { httpURLWithoutQuery, objectName } from './formats.ts';
import { dnsLabel, duration, isUnique, path, size } from './units.ts';

const hourMs = 3_600_000;

const store = z.strictObject({
  url: httpURLWithoutQuery().describe('Address of `atrium audit-store`, which keeps the events of requests.'),
  caFile: path().optional().describe('PEM certificate authority of the audit store, beside those of the system. Reread after a failure.'),
  tokenFile: path()
    .default('/var/run/secrets/atrium/audit-store/token')
    .describe('Token of the service account with the audience `atrium-audit-store`. Reread within a minute.'),
});

const spool = z.strictObject({
  // The service creates the directory, so that its path is no file to check.
  directory: z.string().min(1).describe('Directory of this replica alone. A second process that uses it keeps its events in memory.'),
  maxBytes: size()
    .refine((bytes) => bytes >= 2 * 1024 * 1024, 'must be at least 2MiB')
    .default(64 * 1024 * 1024)
    .describe('Bytes of the events in the directory. An event needs about 700 bytes, and a write twice as many.'),
});

const some = (what: string, name: z.ZodType<string> = z.string().min(1).max(253)) =>
  z.array(name).min(1).max(100).refine(isUnique, 'must not hold a name twice').optional().describe(what);

const recordingRule = z.strictObject({
  namespaces: some('Namespaces of the pod. Default: all.', dnsLabel()),
  groups: some('Groups of the user in Kubernetes, of which one is enough. Default: all users.'),
  policies: some('Access policies by which the user has a role at that time, of which one is enough. Default: all users.', objectName()),
  mode: z
    .enum(['off', 'besteffort', 'required'])
    .describe('`required`: a shell begins and goes on only while it is recorded. `besteffort`: it goes on without.'),
});

const auditSettings = z.strictObject({
  kubernetesEvents: z.boolean().default(true).describe('Records audit events of an object as Kubernetes Events too.'),
  checkpointInterval: duration()
    .refine((milliseconds) => milliseconds >= 1_000, 'must be 1s or more')
    .prefault('1m')
    .describe('Time between signed checkpoints of the audit store. Events that are newer than the last one can be cut off unnoticed.'),
  store: store.optional().describe('The [audit store](audit.md). Without it no events of requests are kept.'),
  delivery: z
    .enum(['besteffort', 'required'])
    .default('besteffort')
    .describe('`required`: a write waits until its event is on the disk of the spool, and is refused with 503 while that is not possible.'),
  recordings: z
    .array(recordingRule)
    .max(100)
    .default([])
    .describe(
      'Rules for [recordings of shells](audit.md#recordings-of-shells). The first rule whose conditions all hold decides; without one nothing is recorded.',
    ),
  refuseDirectShells: z
    .boolean()
    .default(false)
    .describe(
      'Names the user at each shell that Atrium passes on, so that the admission policy of `direct-shells.yaml` refuses [all others](audit.md#shells-past-atrium). Needs `kubernetes.credentials: impersonate`.',
    ),
  maxRecordingBytes: size()
    .refine((bytes) => bytes >= 64 * 1024, 'must be at least 64KiB')
    .default(64 * 1024 * 1024)
    .describe('Bytes of a recording, which ends at this size. A required recording then ends its shell, too.'),
  policy: auditPolicy
    .optional()
    .describe(
      'Which requests have events, as `audit.k8s.io/v1` Policy. Default: writes, connections and reads of Secrets at `Metadata`, and those of RBAC and access at `Request`. Bodies of Secrets and tokens are never kept.',
    ),
  spool: spool
    .optional()
    .describe('Keeps events on disk until the store has them. Without it they wait in memory, and a process that is killed loses them.'),
});

export const auditSection = auditSettings.superRefine(({ delivery, policy, ...settings }, context) => {
  if (delivery !== 'required' && policy?.rules.every((rule) => rule.delivery !== 'required') !== false) return;
  for (const name of ['store', 'spool'] as const)
    if (settings[name] === undefined)
      context.addIssue({ code: 'custom', path: [name], message: 'is required with audit.delivery: required' });
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

const retention = z.strictObject({
  age: duration()
    .refine((milliseconds) => milliseconds >= hourMs, 'must be 1h or more')
    .optional()
    .describe('Age at which events are removed, such as `365d`. Without it events of any age stay.'),
  maxEvents: z
    .int()
    .min(1)
    .optional()
    .describe('Number of events that stay; the oldest of more are removed. An event needs about 600 bytes.'),
  maxSize: size()
    .refine((bytes) => bytes >= 1024 * 1024, 'must be at least 1MiB')
    .optional()
    .describe('Bytes of the events in the file. Keep it a tenth below the volume, which also has a log and files for sorting.'),
  whenFull: z
    .enum(['removeOldest', 'refuse'])
    .default('removeOldest')
    .describe('At `maxSize` the oldest events are removed, or further ones are refused: they wait at the replicas.'),
  maxRecordingsSize: size()
    .prefault('2GiB')
    .describe(
      'Bytes of all recordings of shells, compressed; the oldest of more are removed. Without a bucket the volume needs them beside `maxSize`.',
    ),
});

const s3 = z.strictObject({
  endpoint: httpURLWithoutQuery().describe('Address of the S3 API, such as `https://s3.eu-central-1.amazonaws.com`.'),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, 'must be a region such as eu-central-1')
    .default('us-east-1')
    .describe('Region in the signature. Most servers beside AWS take any.'),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .describe('Bucket, which exists already.'),
  prefix: z
    .string()
    .regex(/^(?:[\w-][\w.-]{0,63}\/){0,8}$/, 'must be folders with a slash at the end of each, such as atrium/recordings/')
    .default('')
    .describe('Begin of the names of all objects, such as `atrium/`. Installations that share a bucket need different ones.'),
  pathStyle: z.boolean().default(true).describe('The bucket is the first segment of the path, not a part of the host name.'),
  accessKeyIDFile: path()
    .default('/var/run/secrets/atrium/bucket/id')
    .describe('File with the id of the access key. All files are reread for each request.'),
  secretAccessKeyFile: path().default('/var/run/secrets/atrium/bucket/secret').describe('File with the secret access key.'),
  sessionTokenFile: path().optional().describe('File with the session token of temporary credentials.'),
  caFile: path().optional().describe('PEM certificate authority of the server, beside those of the system. Reread after a failure.'),
});

const recordings = z.strictObject({
  s3: s3.optional().describe('Bucket with the output of [recordings](audit.md#recordings-in-a-bucket), in place of the database.'),
});

const otlp = z.strictObject({
  endpoint: httpURLWithoutQuery().describe('Collector of logs, as JSON at `<endpoint>/v1/logs` (OTLP/HTTP).'),
  caFile: path().optional().describe('PEM bundle that verifies the collector, beside the authorities of the system.'),
  tokenFile: path().optional().describe('Bearer token for the collector. Reread for each batch.'),
});

const apiServer = z.strictObject({
  tokenFile: path().describe('Bearer token of kube-apiserver, of 32 characters or more. Reread for each batch.'),
});

const auditStoreSettings = z.strictObject({
  // The first start creates the file, so that its path is no file to check.
  databaseFile: z
    .string()
    .min(1)
    .default('/var/lib/atrium/audit.db')
    .describe('SQLite file with the events, on a volume of its own. Ignored with `postgres`.'),
  postgres: postgres.optional().describe('PostgreSQL in place of the file.'),
  retention: retention.prefault({}).describe('Events that are removed, the oldest first.'),
  recordings: recordings.prefault({}).describe('Place of the output of recordings of shells.'),
  apiServer: apiServer
    .optional()
    .describe('Takes events of the audit webhook of kube-apiserver at `/v1/kube-apiserver`: what did not come through Atrium.'),
  otlp: otlp.optional().describe('Collector that gets a copy of each event.'),
  callers: z
    .array(serviceAccount())
    .refine(isUnique, 'must not hold an account twice')
    .default([])
    .describe('Service accounts that may append and query events: that of Atrium. Required by `atrium audit-store`.'),
});

export const auditStoreSection = auditStoreSettings.superRefine(({ postgres: isRemote, retention: { maxSize } }, context) => {
  if (isRemote && maxSize !== undefined)
    context.addIssue({ code: 'custom', path: ['retention', 'maxSize'], message: 'is for the SQLite file; use maxEvents with PostgreSQL' });
});
