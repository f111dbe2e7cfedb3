import { readdir, readFile } from 'node:fs/promises';
import { request } from 'undici';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { ApiServer } from './api-server.ts';
import { Trusting } from './trusting.ts';

/** A Kubernetes object in a test. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    [member: string]: unknown;
  };
  [member: string]: unknown;
}

export interface Answer {
  status: number;
  /** Decoded JSON, or the text. */
  body: unknown;
  /** Texts of its `Warning` headers. */
  warnings: string[];
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const some = z.array(z.string()).default([]);
const role = z.object({ rules: z.array(z.object({ apiGroups: some, resources: some, resourceNames: some, verbs: some })) });
const binding = z.object({
  roleRef: z.object({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.object({ kind: z.string(), name: z.string(), namespace: z.string().optional() })).default([]),
});
const review = z.object({ status: z.object({ allowed: z.boolean() }) });

/** The embedded cluster authorizes by a binding at once. */
const isReal = process.env.TEST_CLUSTER === 'real';
export const serviceNamespace = 'atrium-system';
/** Paths of objects that, by the admission policies, only the service may write. */
const ofTheService = ['/apis/auth.platform.io/v1/users', `/api/v1/namespaces/${serviceNamespace}/secrets`];
const manifests = new URL('../../deploy/manifests/', import.meta.url);

/** A client of the cluster behind the service with the rights of an administrator, without the service in between. */
export class ClusterAdmin {
  readonly #url: string;
  readonly #token: string;
  readonly #agent: Trusting;
  readonly #isInstalled: boolean;
  /** True once the policies are installed; Users and Secrets are then written as the service. */
  #hasPolicies = false;

  constructor(
    { url, certificateAuthority, isInstalled = false }: Pick<ApiServer, 'url' | 'certificateAuthority' | 'isInstalled'>,
    token: string,
  ) {
    this.#url = url;
    this.#isInstalled = isInstalled;
    this.#token = token;
    this.#agent = new Trusting(certificateAuthority);
  }

  /** Sends a request, and repeats it on 429, like kubectl: the API server may not be ready for the kind yet. */
  call(method: Method, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return eventually(
      () => this.#send(method, path, body, headers),
      ({ status }) => status !== 429,
    );
  }

  async #send(method: Method, path: string, body: unknown, given: Record<string, string>): Promise<Answer> {
    // The policies let only the service account write fields of a record that come from a login or a directory.
    const isRecord = this.#hasPolicies && ofTheService.some((own) => path.startsWith(own)) && method !== 'GET';
    const headers = { ...(isRecord && asService), ...given };
    const answer = await request(`${this.#url}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${this.#token}`,
        'user-agent': 'test',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    const warnings = [answer.headers.warning ?? []].flat().map((header) => JSON.parse(header.replace(/^299 - /, '')) as string);
    return { status: answer.statusCode, body: text.startsWith('{') ? JSON.parse(text) : text, warnings };
  }

  /**
   * Creates objects, or merges them into existing ones. When it returns, custom resource definitions are served, and the API server
   * authorizes by the bindings.
   */
  async apply(...objects: Manifest[]): Promise<void> {
    for (const object of objects) await this.#applyOne(object);
  }

  async remove(path: string): Promise<void> {
    const { status, body } = await this.call('DELETE', path);
    if (status !== 200 && status !== 202) throw new Error(`${path}: ${JSON.stringify(body)}`);
  }

  /**
   * Applies the objects of an installation: custom resources, the service account with its roles, the roles for users, and the policies.
   */
  async install(): Promise<void> {
    // A second call follows the removal of an object by the suite.
    if (!this.#isInstalled || this.#hasPolicies) await this.apply(...(await installation()));
    if (!this.#hasPolicies) await this.#untilAdmitting();
    this.#hasPolicies = true;
  }

  /** Waits for the admission policies, which take effect a moment after their creation. */
  async #untilAdmitting(): Promise<void> {
    const spec = { email: 'probe', username: '', connector_type: '', connector_id: '', connector_name: '', is_admin: false, valid: false };
    const probe = { apiVersion: 'auth.platform.io/v1', kind: 'User', metadata: { name: 'probe' }, spec };
    await eventually(
      () => this.call('POST', `${pathOf(probe)}?dryRun=All`, probe),
      ({ status }) => status === 403,
    );
  }

  /**
   * @param file below deploy/manifests
   * @param kinds default: all
   */
  async applyFile(file: string, kinds?: readonly string[]): Promise<void> {
    await this.apply(...(await objectsOf(file)).filter(({ kind }) => kinds?.includes(kind) ?? true));
  }

  /** Issues a token of the service's account, or of another account of its namespace, like the one that a kubelet mounts. */
  async serviceToken(account = 'atrium'): Promise<string> {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7200 } };
    const { status, body } = await this.call('POST', `/api/v1/namespaces/${serviceNamespace}/serviceaccounts/${account}/token`, review);
    if (status !== 201) throw new Error(`no token for the service: ${JSON.stringify(body)}`);
    return (body as { status: { token: string } }).status.token;
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  async #applyOne(object: Manifest): Promise<void> {
    const path = pathOf(object, object.metadata.name);
    // A kind is served a moment after its definition was accepted, and its storage is recreated meanwhile.
    const created = await eventually(
      () => this.call('POST', pathOf(object), object),
      ({ status }) => status !== 404 && status !== 503,
    );
    if (created.status === 409) await this.#merge(path, object);
    else if (created.status !== 201) throw new Error(`${path}: ${JSON.stringify(created.body)}`);
    if (object.status !== undefined) await this.#merge(`${path}/status`, { status: object.status });
    if (isReal && object.kind.endsWith('RoleBinding')) await this.#untilAuthorizing(object);
  }

  /** Waits until the API server, which reads roles and bindings from its watches, authorizes the first subject of a binding. */
  async #untilAuthorizing({ metadata: { namespace }, ...object }: Manifest): Promise<void> {
    const { roleRef, subjects } = binding.parse(object);
    const [subject] = subjects;
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    const metadata = { name: roleRef.name, ...(namespace !== undefined && roleRef.kind === 'Role' && { namespace }) };
    const { body } = await this.call('GET', pathOf({ apiVersion, kind: roleRef.kind, metadata }, roleRef.name));
    const rule = role.safeParse(body).data?.rules.find(({ resources }) => resources.length > 0);
    if (rule === undefined || subject === undefined) return;
    const [resource, subresource] = rule.resources[0]?.split('/') ?? [];
    const attributes = { verb: rule.verbs[0], group: rule.apiGroups[0], resource, subresource, name: rule.resourceNames[0], namespace };
    await eventually(() => this.isAllowed(requesterOf(subject), attributes), Boolean);
  }

  /** Reports whether the API server authorizes a user, by a SubjectAccessReview. */
  async isAllowed(requester: Requester, resourceAttributes: object): Promise<boolean> {
    const asked = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec: { ...requester, resourceAttributes } };
    const { body } = await this.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', asked);
    return review.parse(body).status.allowed;
  }

  async #merge(path: string, patch: unknown): Promise<void> {
    const { status, body } = await eventually(
      () => this.call('PATCH', path, patch, { 'content-type': 'application/merge-patch+json' }),
      (answer) => answer.status !== 503,
    );
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
  }
}

interface Requester {
  user: string;
  groups?: string[];
}

function requesterOf({ kind, name, namespace = '' }: z.output<typeof binding>['subjects'][number]): Requester {
  if (kind === 'Group') return { user: 'a-member', groups: [name] };
  return { user: kind === 'ServiceAccount' ? `system:serviceaccount:${namespace}:${name}` : name };
}

/** Manifests by file. A process reads each file once. */
const read = new Map<string, Promise<Manifest[]>>();

async function objectsOf(file: string, folder = manifests): Promise<Manifest[]> {
  const url = new URL(file, folder);
  const parse = async () => {
    const documents = parseAllDocuments(await readFile(url, 'utf8'));
    return documents.map((document): Manifest => document.toJS());
  };
  const objects = read.get(url.href) ?? parse();
  read.set(url.href, objects);
  return objects;
}

/** Selects the binding of the probed policy, which is applied last: once it takes effect, all policies do. */
const isProbed = ({ kind, metadata }: Manifest) =>
  kind === 'ValidatingAdmissionPolicyBinding' && metadata.name === 'users.auth.platform.io';

/**
 * Returns the objects of an installation in the order of their creation: the policies last.
 *
 * @param folder with the manifests. Default: those of the present build.
 */
export async function installation(folder = manifests): Promise<Manifest[]> {
  const crds = (await readdir(new URL('crds/', folder))).filter((name) => name.endsWith('.io.yaml')).map((name) => `crds/${name}`);
  const files = [
    'rbac.yaml',
    'access-requests.yaml',
    'certificates.yaml',
    'user-bindings.yaml',
    'access-tokens.yaml',
    'roles.yaml',
    ...crds,
    'admission-policy.yaml',
  ];
  const objects = (await Promise.all(files.map((file) => objectsOf(file, folder)))).flat();
  return [...objects.filter((object) => !isProbed(object)), ...objects.filter(isProbed)];
}

/** Headers that impersonate the service account that the policies name, with the rights of an administrator. */
export const asService = {
  'impersonate-user': `system:serviceaccount:${serviceNamespace}:atrium`,
  'impersonate-group': 'system:masters',
};

export function pathOf({ apiVersion, kind, metadata }: Manifest, name?: string): string {
  const group = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return [
    group,
    ...(metadata.namespace ? ['namespaces', metadata.namespace] : []),
    `${kind.toLowerCase().replace(/y$/, 'ie')}s`,
    ...(name ? [name] : []),
  ].join('/');
}

const patienceMs = 120_000;
const firstPauseMs = 10;
const longestPauseMs = 100;

/**
 * Repeats a call until its answer is wanted, for at most two minutes: a bound against hanging, and no expectation. The pauses grow by a
 * quarter, because the calls of long waits take the processor time of other tests.
 */
export async function eventually<T>(ask: () => Promise<T> | T, isWanted: (answer: T) => boolean, timeoutMs = patienceMs): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(1.25 * pauseMs, longestPauseMs)) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`not as wanted in time: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
