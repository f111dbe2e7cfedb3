import { randomBytes } from 'node:crypto';
import { StatusError } from '../../api/status.ts';
import type { Config } from '../../config/schema.ts';
import { KeySecret } from '../../keys/key-secret.ts';
import { unending } from '../../kubernetes/abortable.ts';
import type { ServiceClient } from '../../kubernetes/kubernetes-client.ts';
import type { KubernetesObject } from '../../kubernetes/resource.ts';
import { timestamp } from '../../kubernetes/timestamp.ts';
import { accountOf } from '../record/account.ts';
import { createdByAnnotation, userLabels } from '../record/labels.ts';
import { recordName } from '../record/name.ts';
import { UserRecords, untilUncontested } from '../record/records.ts';
import { userApiVersion } from '../record/resource.ts';
import { localSubjectName, type SubjectNaming } from '../record/subject-name.ts';
import { UserStatusWriter } from '../status.ts';
import { Passwords } from './passwords.ts';
import { passwordProblems, problemText } from './policy.ts';
import { PasswordSecrets } from './secret.ts';

export interface FirstAdminOptions {
  client: ServiceClient;
  /** `kubernetes.namespace` */
  namespace: string;
  config: Pick<Config, 'users'>;
  naming: SubjectNaming;
  /** E-mail address or plain login string. */
  email: string;
  /** For display, 128 characters at most. */
  displayName: string;
  /** A random one is made if none is given. */
  password?: string | undefined;
  /** The Secret that tells of the administrator: `email` and, unless it was given, `password`. */
  secretName: string;
}

/** In the last two cases nothing was changed, as what there is means that the first administrator was made before. */
export type FirstAdminOutcome = 'created' | 'exists' | 'removed' | 'another';

/** Why there is no administrator now; one line for the user of the command. */
class FirstAdminError extends Error {
  override readonly name = 'FirstAdminError';
}

interface Work extends FirstAdminOptions {
  /** Of the record. */
  readonly name: string;
  readonly records: UserRecords;
  readonly status: UserStatusWriter;
  readonly hashes: PasswordSecrets;
  readonly told: KeySecret;
  readonly signal: AbortSignal;
}

/** 32 characters of base64url. */
const passwordBytes = 24;

/**
 * Makes the first administrator of an installation, once.
 *
 * Four writes, each of which wins once, in this order: the User, its status (the password is due before there is one), the Secret that
 * tells of it, the Secret with the hash. Whatever ends the work in between, the next run completes it; no login works before. A Secret
 * that tells of a User who is gone means that the administrator was removed, and is not made again; nor is another one beside the first.
 *
 * @throws FirstAdminError
 */
export async function createFirstAdmin(options: FirstAdminOptions): Promise<FirstAdminOutcome> {
  const { client, namespace, email, secretName, password } = options;
  const name = recordName(email);
  if (name === undefined) throw new FirstAdminError(`${JSON.stringify(email)} is no e-mail address or login name (ASCII, one @ at most)`);
  const { passwordPolicy } = options.config.users;
  const user = { email, username: options.displayName };
  const problems = password === undefined ? [] : await passwordProblems(password, user, passwordPolicy);
  if (problems.length > 0)
    throw new FirstAdminError(
      `the password will not do: it ${problems.map((problem) => problemText(problem, passwordPolicy)).join(', it ')}`,
    );
  const signal = unending;
  const told = new KeySecret(client, namespace, secretName);
  const records = new UserRecords(client);
  const status = new UserStatusWriter({ ...options, now: () => client.serverClock.now() });
  const work = { ...options, name, records, status, hashes: new PasswordSecrets(options), told, signal };
  try {
    const outcome = await untilUncontested(() => attempt(work), signal);
    if (outcome === undefined) throw new FirstAdminError(`the user ${email} is being written all the time`);
    return outcome;
  } catch (error) {
    throw error instanceof StatusError ? new FirstAdminError(reasonOf(error), { cause: error }) : error;
  }
}

/** Undefined if another writer was faster. */
async function attempt(work: Work): Promise<FirstAdminOutcome | undefined> {
  const { email, name, records, status, hashes, told, signal } = work;
  const before = await told.read(signal);
  if (before !== undefined && !isAbout(work, before.entries)) return 'another';
  const found = await records.read(name, signal);
  if (found === 'notInstalled')
    throw new FirstAdminError('the resource users.auth.platform.io is not installed: apply its definition first');
  if (found === undefined && before !== undefined) return 'removed';
  const user = found ?? (await records.create(newAdmin(work), signal));
  if (user === undefined) return undefined;
  checkAdmin(work, user);
  const owner = { name, uid: user.metadata.uid };
  if (await hashes.read(owner, signal)) return 'exists';
  if ((await status.patchVersion(user, newStatus(work, user), signal)) === undefined) return undefined;
  const hash = await new Passwords().hash(await passwordToSet(work));
  if (await hashes.create({ user: owner, hash, changedAt: work.client.serverClock.now() }, signal)) return 'created';
  if (await hashes.read(owner, signal)) return 'exists';
  throw new FirstAdminError(`the password Secret of an earlier user ${email} is still there; try again when it is gone`);
}

function newAdmin({ email, displayName, name }: Work) {
  const connector = { connector_type: 'local', connector_id: 'local', connector_name: 'Local' };
  const spec = { email, username: displayName, ...connector, is_admin: true };
  const annotations = { [createdByAnnotation]: 'create-admin' };
  return { apiVersion: userApiVersion, kind: 'User', metadata: { name, labels: userLabels(spec), annotations }, spec };
}

function newStatus({ client, naming, password }: Work, user: KubernetesObject): Record<string, unknown> {
  const now = client.serverClock.now();
  const subjectName = localSubjectName(accountOf(user), naming);
  return {
    ...(subjectName !== undefined && { subjectName }),
    activatedTime: timestamp(now),
    passwordChangedTime: timestamp(now),
    mustChangePassword: password === undefined,
  };
}

/** The one given, or the one that the Secret tells of, which is made if there is none. */
async function passwordToSet(work: Work): Promise<string> {
  const { email, secretName, password: given, told, signal } = work;
  const random = given === undefined && { password: randomBytes(passwordBytes).toString('base64url') };
  const { entries } = await told.getOrCreate(async () => ({ email, ...random }), signal);
  if (!isAbout(work, entries)) throw new FirstAdminError(`the Secret ${secretName} was made by another run at the same time`);
  const password = given ?? entries.password;
  // The Secret is of an earlier run that was ended: what it says must be true in the end.
  if (!password || (given !== undefined && entries.password !== undefined))
    throw new FirstAdminError(
      `the Secret ${secretName} was made with${password ? 'out' : ''} a password file; run this as then, or remove it`,
    );
  return password;
}

const isAbout = ({ email }: Work, { email: about = '' }: Readonly<Record<string, string>>) => about.toLowerCase() === email.toLowerCase();

function checkAdmin({ email, name }: Work, user: KubernetesObject): void {
  const account = accountOf(user);
  if (account.email.toLowerCase() !== email.toLowerCase()) throw new FirstAdminError(`the user record ${name} is not of ${email}`);
  if (!account.isAdmin || account.connectorType !== 'local')
    throw new FirstAdminError(`there is a user ${email} who is no local administrator, and never becomes one`);
}

/** What the API server said, or why it said nothing: the user of the command has its credential anyway. */
function reasonOf(error: StatusError): string {
  const { cause } = error;
  if (cause instanceof StatusError) return `the API server: ${cause.status.message}`;
  return [error.status.message, ...(cause instanceof Error ? [cause.message] : [])].join(': ').replace(/\s+/g, ' ');
}
