/** `atrium create-admin`: creates the first administrator of an installation, once. */
import { randomBytes } from 'node:crypto';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { failureLine } from '@atrium/kubernetes/upstream-error.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { embeddedIssuerOf, embeddedLoginOf, identityURLOf } from './config/issuers.ts';
import { ConfigError } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { KeySecret } from './keys/key-secret.ts';
import { Passwords } from './users/passwords/passwords.ts';
import { passwordProblems, problemText } from './users/passwords/policy.ts';
import { PasswordSecrets } from './users/passwords/secret.ts';
import { accountOf, recordName } from './users/record/account.ts';
import { createdByAnnotation, userLabels } from './users/record/labels.ts';
import { UserRecords } from './users/record/records.ts';
import { userApiVersion } from './users/record/schema.ts';
import { localSubjectName, type SubjectNaming } from './users/record/subject-name.ts';
import { UserStatusWriter } from './users/status.ts';

interface CreateAdminOptions {
  config: Config;
  connection: Connection;
  email: string;
  /** Display name. */
  name: string;
  /** Password; if undefined, a random one is stored in the Secret. */
  password: string | undefined;
  /** Name of the Secret. */
  secret: string;
}

/** @returns a sentence about the result; @throws ConfigError, FirstAdminError */
export async function runCreateAdmin({ config, connection, email, name, password, secret }: CreateAdminOptions): Promise<string> {
  if (identityURLOf(config) === undefined)
    throw new ConfigError([
      { path: 'identity.enabled', message: 'the embedded provider, where an administrator logs in, is off or lacks server.publicURL' },
    ]);
  const namespace = config.kubernetes.namespace ?? connection.namespace ?? 'default';
  const apiServer = new KubernetesClient({ connection, requestTimeoutMs: config.kubernetes.requestTimeout, metrics: new Metrics() });
  try {
    const naming = { claims: embeddedLoginOf(config).claims, embeddedIssuer: embeddedIssuerOf(config) };
    const options = { client: apiServer.asService, namespace, config, naming, email, displayName: name, password, secretName: secret };
    const outcome = await createFirstAdmin(options);
    if (outcome === 'exists') return `the administrator ${email} exists already; nothing was changed`;
    if (outcome === 'removed')
      return `the administrator ${email} was removed; nothing was changed: to make a new one, remove the Secret ${secret} first`;
    if (outcome === 'another')
      return `the first administrator was made before, as the Secret ${secret} tells; nothing was changed for ${email}`;
    if (password !== undefined) return `the administrator ${email} was made, with the password of the file`;
    return `the administrator ${email} was made; the password, to be changed at the first login, is in the Secret ${namespace}/${secret}`;
  } finally {
    await apiServer.close();
  }
}

interface FirstAdminOptions {
  client: ServiceClient;
  /** `kubernetes.namespace` */
  namespace: string;
  config: Pick<Config, 'users'>;
  naming: SubjectNaming;
  /** E-mail address or plain login string. */
  email: string;
  /** Display name, 128 characters at most. */
  displayName: string;
  /** Password of the administrator. Default: a random one. */
  password?: string | undefined;
  /** Secret that names the administrator: `email` and, unless it was given, `password`. */
  secretName: string;
}

/** The outcomes `removed` and `another` change nothing, because the first administrator was created before. */
type FirstAdminOutcome = 'created' | 'exists' | 'removed' | 'another';

/** Reason why the administrator was not created, as one line for the user of the command. */
class FirstAdminError extends Error {
  override readonly name = 'FirstAdminError';
}

interface Work extends FirstAdminOptions {
  /** Name of the record. */
  readonly name: string;
  readonly records: UserRecords;
  readonly status: UserStatusWriter;
  readonly hashes: PasswordSecrets;
  readonly told: KeySecret;
  readonly signal: AbortSignal;
}

/** Number of random bytes, which are 32 characters of base64url. */
const passwordBytes = 24;

/**
 * Creates the first administrator of an installation, once.
 *
 * Makes four writes in this order, each of which can succeed once: the User, its status (which requires the change of a random password
 * before there is one), the Secret that names the administrator, and the Secret with the hash. A repeated run completes an interrupted one.
 * No login is possible before the last write. A Secret that names a deleted User means that the administrator was removed, and is not
 * created again. A second administrator is not created either.
 *
 * @throws FirstAdminError
 */
async function createFirstAdmin(options: FirstAdminOptions): Promise<FirstAdminOutcome> {
  const { client, namespace, email, secretName, password } = options;
  const name = recordName(email);
  if (name === undefined)
    throw new FirstAdminError(`${JSON.stringify(email)} is not an e-mail address or login name (ASCII, one @ at most)`);
  const { passwordPolicy } = options.config.users;
  const user = { email, username: options.displayName };
  const problems = password === undefined ? [] : await passwordProblems(password, user, passwordPolicy);
  if (problems.length > 0)
    throw new FirstAdminError(
      `the password is refused: it ${problems.map((problem) => problemText(problem, passwordPolicy)).join(', it ')}`,
    );
  const signal = neverAborts;
  const told = new KeySecret(client, namespace, secretName);
  const records = new UserRecords(client);
  const status = new UserStatusWriter({ ...options, now: () => client.serverClock.now() });
  const work = { ...options, name, records, status, hashes: new PasswordSecrets(options), told, signal };
  try {
    const outcome = await retryOnConflict(() => attempt(work), signal);
    if (outcome === undefined) throw new FirstAdminError(`concurrent writes prevented the change of the user ${email}, try again`);
    return outcome;
  } catch (error) {
    throw error instanceof StatusError ? new FirstAdminError(failureLine(error), { cause: error }) : error;
  }
}

/** Returns undefined after a conflict. */
async function attempt(work: Work): Promise<FirstAdminOutcome | undefined> {
  const { email, name, records, status, hashes, told, signal } = work;
  const before = await told.read(signal);
  if (before !== undefined && !isForAdmin(work, before.entries)) return 'another';
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

/** Returns the given password, or the one in the Secret, which is created if it does not exist. */
async function passwordToSet(work: Work): Promise<string> {
  const { email, secretName, password: given, told, signal } = work;
  const random = given === undefined && { password: randomBytes(passwordBytes).toString('base64url') };
  const { entries } = await told.getOrCreate(async () => ({ email, ...random }), signal);
  if (!isForAdmin(work, entries)) throw new FirstAdminError(`the Secret ${secretName} was made by another run at the same time`);
  const password = given ?? entries.password;
  // The Secret belongs to an interrupted run. Its content must be true in the end.
  if (!password || (given !== undefined && entries.password !== undefined))
    throw new FirstAdminError(
      `the Secret ${secretName} was made with${password ? 'out' : ''} a password file; run this as then, or remove it`,
    );
  return password;
}

const isForAdmin = ({ email }: Work, { email: about = '' }: Readonly<Record<string, string>>) =>
  about.toLowerCase() === email.toLowerCase();

function checkAdmin({ email, name }: Work, user: KubernetesObject): void {
  const account = accountOf(user);
  if (account.email.toLowerCase() !== email.toLowerCase()) throw new FirstAdminError(`the user record ${name} is not of ${email}`);
  if (!account.isAdmin || account.connectorType !== 'local')
    throw new FirstAdminError(`the user ${email} exists, is not a local administrator and cannot become one`);
}
