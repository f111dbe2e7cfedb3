/** The embedded cluster with the users and objects of the demo, which `atrium sandbox` starts beside the service. */
import { randomInt } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { createAuthority, createServerCertificate } from '@atrium/embedded-cluster/certificates.ts';
import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import type { KubernetesObject } from '@atrium/embedded-cluster/objects.ts';
import { parseAllDocuments } from 'yaml';
import { demoAccessPolicy, demoAccessRequests, demoReview, demoUnusedBinding } from './access.ts';
import { demoDirectory, LdapServer } from './ldap-server.ts';
import {
  type DemoPerson,
  type DemoRole,
  demoBindings,
  demoConfigMaps,
  demoExtensions,
  demoGroups,
  demoImages,
  demoNamespace,
  demoPeople,
  demoUser,
  recordName,
  recordTime,
  webhookBinding,
  webhookUser,
} from './objects.ts';
import { demoCertificate, demoFirstRevisions, demoStuckRevision, demoWorkloads } from './workloads.ts';

export interface DemoOptions {
  /** Address that the embedded cluster listens on. */
  host: string;
  /** Number of generated users beside the named ones. */
  users: number;
  /** Leaves out UserBindings, access requests and their policy, which the service of a minimal installation does not serve. */
  isMinimal?: boolean;
  /** Directory for the cluster's objects; without it they are in memory. */
  dataDirectory?: string;
  /** deploy/manifests. */
  manifests: URL;
  /** Objects of the sample plugin. */
  plugin: readonly KubernetesObject[];
  hashPassword(password: string): Promise<string>;
  /** Returns the Secret with a user's password for the service. */
  passwordSecret(user: { name: string; uid: string }, hash: string): KubernetesObject;
}

interface SignedIn {
  email: string;
  role: DemoRole;
  /** Password for the login page. */
  password: string;
  /** A bearer token of the cluster itself. */
  token: string;
}

export interface Demo {
  cluster: Cluster;
  directory: DemoDirectory;
  /** A token of the service's own account. */
  serviceToken: string;
  /** Token with which the cluster asks the service about access tokens. */
  webhookToken: string;
  people: SignedIn[];
  images: readonly { name: string; key: string }[];
  users: number;
  /** Resolves once the workloads are rolled out. */
  rolledOut: Promise<void>;
  stop(): Promise<void>;
}

interface DemoDirectory {
  url: string;
  /** PEM. */
  certificateAuthority: string;
  /** Password of every user in the directory. */
  password: string;
  stop(): Promise<void>;
}

const tokenSeconds = 12 * 3600;
const rolloutPollMs = 20;
const rolloutTimeoutMs = 60_000;

/** The progress of a rollout. */
interface Rollout {
  spec: { replicas: number };
  status?: { observedGeneration?: number; availableReplicas?: number };
}

/** Account of the service, which alone may write passwords. */
const serviceAccount = `system:serviceaccount:${demoNamespace}:atrium`;

/** Starts the cluster and applies the demo, through the same checks as objects of every client. */
export async function startDemo({
  host,
  users,
  isMinimal = false,
  dataDirectory,
  manifests,
  plugin,
  hashPassword,
  passwordSecret,
}: DemoOptions): Promise<Demo> {
  const people = demoPeople(users);
  // Hashing takes longest. Other threads hash while the cluster starts.
  const passwords = { passwordSecret, hashed: hashedPasswords(people, hashPassword), unknown: hashPassword(newPassword()) };
  const cluster = await Cluster.start({ host, hasWorkloads: true, ...(dataDirectory !== undefined && { dataDirectory }) });
  await cluster.apply(...(await readManifests(manifests)), webhookBinding);
  // A persistent cluster keeps the changes of its users.
  if (cluster.isNew) {
    const now = new Date();
    await cluster.apply(...demoBindings(people), ...demoConfigMaps());
    const records = people.map((person) => demoUser(person, now));
    await applyMany(records, (...objects) => cluster.applyAt(recordTime(now), serviceAccount, ...objects));
    await cluster.apply(...demoGroups(people));
    await cluster.apply(...(isMinimal ? [] : demoExtensions), ...plugin, ...demoFirstRevisions(), await demoCertificate(now));
    await setPasswords(cluster, people, passwords);
  }
  const rollout = new AbortController();
  // A namespace that is deleted meanwhile accepts no second revision.
  const rolledOut = cluster.isNew
    ? rollOut(cluster, AbortSignal.any([rollout.signal, AbortSignal.timeout(rolloutTimeoutMs)])).catch((error: Error) =>
        process.emitWarning(error),
      )
    : Promise.resolve();
  // Applied last, because the policy lets only the service create users of a directory.
  await cluster.apply(...(await readFiles(manifests, ['admission-policy.yaml'])));
  if (!isMinimal) await installAccess(cluster, manifests);
  const signedIn = await signIn(cluster, people, passwords);
  const serviceToken = await cluster.issueToken(
    {
      username: serviceAccount,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${demoNamespace}`],
    },
    365 * 24 * 3600,
  );
  const webhookToken = await cluster.issueToken({ username: webhookUser }, 365 * 24 * 3600);
  const directory = await startDirectory(people);
  const stop = async () => {
    rollout.abort();
    await Promise.all([cluster.stop(), directory.stop()]);
  };
  return { cluster, serviceToken, webhookToken, people: signedIn, images: demoImages, users: people.length, directory, rolledOut, stop };
}

/** Lets users ask for access. A new cluster gets requests. */
async function installAccess(cluster: Cluster, manifests: URL): Promise<void> {
  await cluster.apply(...(await readFiles(manifests, ['access-requests.yaml'])), demoAccessPolicy);
  if (!cluster.isNew) return;
  const now = new Date();
  await cluster.apply(...demoReview);
  await cluster.applyAt(demoUnusedBinding.madeAt(now), demoUnusedBinding.madeBy, demoUnusedBinding.object);
  for (const { request, history } of demoAccessRequests(now, (key) => cluster.get(key)))
    for (const { time, status } of history) await cluster.applyAt(time, serviceAccount, { ...request, status });
}

/** Applies the second revisions after the controllers have seen the first ones, and a stuck one after the first one is available. */
async function rollOut(cluster: Cluster, signal: AbortSignal): Promise<void> {
  const first = demoFirstRevisions().filter(({ kind }) => kind === 'Deployment');
  /** Returns once all Deployments that still exist match, or with false when the signal aborts. */
  const until = async (matches: (deployment: Rollout) => boolean): Promise<boolean> => {
    const doesMatch = (key: KubernetesObject) => {
      const found = cluster.get(key) as Rollout | undefined;
      return found === undefined || matches(found);
    };
    while (!first.every(doesMatch)) {
      await setTimeout(rolloutPollMs, undefined, { ref: false });
      if (signal.aborted) return false;
    }
    return true;
  };
  if (!(await until(({ status }) => status?.observedGeneration !== undefined))) return;
  await cluster.apply(...demoWorkloads());
  const isComplete = ({ spec, status }: Rollout) => (status?.availableReplicas ?? 0) === spec.replicas;
  if (await until(isComplete)) await cluster.apply(demoStuckRevision);
}

interface PasswordsOfDemo extends Pick<DemoOptions, 'passwordSecret'> {
  /** Passwords of users with a role, by e-mail address. */
  hashed: ReadonlyMap<string, { password: string; hash: Promise<string> }>;
  /** Hash of a random password that is discarded. */
  unknown: Promise<string>;
}

const hashedPasswords = (people: readonly DemoPerson[], hashPassword: DemoOptions['hashPassword']): PasswordsOfDemo['hashed'] =>
  new Map(
    people.flatMap(({ email, role }) => {
      const password = newPassword();
      return role === undefined ? [] : [[email, { password, hash: hashPassword(password) }]];
    }),
  );

/** Gives each user with a role a password and a token of the cluster. A persistent cluster gets new ones at each start. */
async function signIn(cluster: Cluster, people: readonly DemoPerson[], { hashed, passwordSecret }: PasswordsOfDemo) {
  const signed = people.map(async ({ email, role, groups }): Promise<SignedIn | undefined> => {
    const user = recordOf(cluster, email);
    const own = hashed.get(email);
    if (role === undefined || user === undefined || own === undefined) return undefined;
    await cluster.applyAs(serviceAccount, passwordSecret(user, await own.hash));
    const token = await cluster.issueToken({ username: email, groups: [...groups] }, tokenSeconds);
    return { email, role, password: own.password, token };
  });
  return (await Promise.all(signed)).filter((person) => person !== undefined);
}

/** Gives the other local users the same random password, which is discarded, because hashing is slow. */
async function setPasswords(cluster: Cluster, people: readonly DemoPerson[], { unknown, passwordSecret }: PasswordsOfDemo) {
  const hash = await unknown;
  const others = people.filter(({ connector = 'local', role }) => connector === 'local' && role === undefined);
  const records = others.flatMap(({ email }) => recordOf(cluster, email) ?? []);
  await applyMany(
    records.map((user) => passwordSecret(user, hash)),
    (...objects) => cluster.apply(...objects),
  );
}

const maxArguments = 10_000;

/** Applies objects in parts: the stack of a call holds some 120,000 arguments. */
async function applyMany(objects: readonly KubernetesObject[], apply: Cluster['apply']): Promise<void> {
  for (let begin = 0; begin < objects.length; begin += maxArguments) await apply(...objects.slice(begin, begin + maxArguments));
}

function recordOf(cluster: Cluster, email: string): { name: string; uid: string } | undefined {
  const name = recordName(email);
  const user = cluster.get({ apiVersion: 'auth.platform.io/v1', kind: 'User', metadata: { name } });
  return user && { name, uid: user.metadata.uid ?? '' };
}

async function startDirectory(people: readonly DemoPerson[]): Promise<DemoDirectory> {
  const password = newPassword();
  const now = new Date();
  const authority = await createAuthority(now);
  const server = await LdapServer.start(demoDirectory(people, password), await createServerCertificate(authority, '127.0.0.1', now));
  return { url: server.url, certificateAuthority: authority.certificate, password, stop: () => server.stop() };
}

/** Returns a password of 69 bits, in letters and digits that are not mistaken for each other. */
const newPassword = () => Array.from({ length: 14 }, () => passwordAlphabet[randomInt(passwordAlphabet.length)]).join('');
const passwordAlphabet = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Reads the manifests that an installation applies. */
async function readManifests(directory: URL): Promise<KubernetesObject[]> {
  const crds = (await readdir(new URL('crds/', directory))).filter((name) => name.endsWith('.io.yaml')).sort();
  const byHand = [
    'certificates.yaml',
    'user-bindings.yaml',
    'access-tokens.yaml',
    'workload-lists.yaml',
    'usage.yaml',
    'impersonation.yaml',
    'agents.yaml',
  ];
  const rights = ['rbac.yaml', ...byHand, 'roles.yaml'];
  // The store of the demo has no pod.
  const ofStore = (await readFiles(directory, ['audit-store.yaml'])).filter(({ kind }) => kind === 'Role' || kind === 'RoleBinding');
  return [...(await readFiles(directory, [...crds.map((name) => `crds/${name}`), ...rights])), ...ofStore];
}

async function readFiles(directory: URL, files: readonly string[]): Promise<KubernetesObject[]> {
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, directory), 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document): KubernetesObject => document.toJS()));
}
