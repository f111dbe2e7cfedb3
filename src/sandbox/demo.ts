/** The embedded cluster with the demo's people and objects in it: what `atrium sandbox` starts beside the service. */
import { randomInt } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { Cluster } from './cluster.ts';
import {
  demoBindings,
  demoConfigMaps,
  demoGroups,
  demoImages,
  demoNamespace,
  demoUser,
  webhookBinding,
  webhookUser,
} from './demo-objects.ts';
import { type DemoRole, demoPeople, recordName } from './demo-people.ts';
import type { KubernetesObject } from './objects.ts';

export interface DemoOptions {
  /** Address that the embedded cluster listens on. */
  host: string;
  /** How many generated people join the named ones. */
  users: number;
  /** Where the cluster keeps its objects; in memory without it. */
  dataDirectory?: string;
  /** deploy/manifests. */
  manifests: URL;
  /** Where the kubeconfig of the administrator goes. */
  kubeconfig: string;
  /** The Secret by which the service knows a password. */
  passwordSecret(user: { name: string; uid: string }, password: string): Promise<KubernetesObject>;
}

interface SignedIn {
  email: string;
  role: DemoRole;
  /** For the log-in page. */
  password: string;
  /** A bearer token that the cluster itself has made. */
  token: string;
}

export interface Demo {
  cluster: Cluster;
  /** A token of the service's own account. */
  serviceToken: string;
  /** What the cluster asks the service by whose an access token is. */
  webhookToken: string;
  people: SignedIn[];
  images: readonly { name: string; key: string }[];
  users: number;
}

const tokenSeconds = 12 * 3600;

/** Starts the cluster and puts the demo into it, through the same checks that every client's objects go through. */
export async function startDemo({ host, users, dataDirectory, manifests, kubeconfig, passwordSecret }: DemoOptions): Promise<Demo> {
  const cluster = await Cluster.start({ host, ...(dataDirectory !== undefined && { dataDirectory }) });
  const people = demoPeople(users);
  await cluster.apply(...(await readManifests(manifests)), webhookBinding);
  // What somebody has changed in a cluster that is kept stays as he left it.
  if (cluster.isNew) {
    const now = new Date();
    const objects = [...demoBindings(people), ...demoConfigMaps(), ...people.map((person) => demoUser(person, now)), ...demoGroups(people)];
    await cluster.apply(...objects);
  }
  const signedIn: SignedIn[] = [];
  for (const { email, role, groups } of people) {
    const user = cluster.get({ apiVersion: 'auth.platform.io/v1', kind: 'User', metadata: { name: recordName(email) } });
    if (role === undefined || user === undefined) continue;
    const password = newPassword();
    await cluster.apply(await passwordSecret({ name: recordName(email), uid: user.metadata.uid ?? '' }, password));
    const token = await cluster.issueToken({ username: email, groups: [...groups] }, tokenSeconds);
    signedIn.push({ email, role, password, token });
  }
  const admin = signedIn.find(({ role }) => role === 'admin');
  if (admin) await cluster.writeKubeconfig(kubeconfig, admin.token);
  const serviceToken = await cluster.issueToken(
    {
      username: `system:serviceaccount:${demoNamespace}:atrium`,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${demoNamespace}`],
    },
    365 * 24 * 3600,
  );
  const webhookToken = await cluster.issueToken({ username: webhookUser }, 365 * 24 * 3600);
  return { cluster, serviceToken, webhookToken, people: signedIn, images: demoImages, users: people.length };
}

/** 69 bits, in letters and digits that are not taken for each other. */
const newPassword = () => Array.from({ length: 14 }, () => passwordAlphabet[randomInt(passwordAlphabet.length)]).join('');
const passwordAlphabet = 'abcdefghjkmnpqrstuvwxyz23456789';

/** The very files that an installation applies. */
async function readManifests(directory: URL): Promise<KubernetesObject[]> {
  const crds = (await readdir(new URL('crds/', directory))).sort().map((name) => `crds/${name}`);
  const texts = await Promise.all(
    [...crds, 'rbac.yaml', 'certificates.yaml', 'user-bindings.yaml', 'access-tokens.yaml', 'impersonation.yaml', 'roles.yaml'].map(
      (file) => readFile(new URL(file, directory), 'utf8'),
    ),
  );
  return texts.flatMap((text) => parseAllDocuments(text).map((document): KubernetesObject => document.toJS()));
}
