import { type ClusterAdmin, eventually, type Manifest } from '../../support/cluster-admin.ts';
import { grant } from '../../support/grants.ts';
import type { TestServer } from '../../support/server.ts';
import { aUser } from '../users/a-user.ts';

export const rbac = 'rbac.authorization.k8s.io';
export const bindingsPath = '/apis/auth.platform.io/v1/userbindings';
export const clusterRoleBindingsPath = `/apis/${rbac}/v1/clusterrolebindings`;

interface Subject {
  kind: string;
  name: string;
}

export interface UserBinding {
  metadata: { name: string; uid: string; generation: number; finalizers?: string[]; annotations?: Record<string, string> };
  spec: { subjects: Subject[]; roleRef: string; scope: string; notBefore?: string; expiresAt?: string };
  status?: {
    phase?: string;
    observedGeneration?: number;
    bindingsCreated?: { clusterRoleBindings: number; roleBindings: number };
    subjects?: (Subject & { uid: string })[];
    conditions?: { type: string; status: string; reason: string; message: string }[];
  };
}

export interface Made {
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: { uid: string; kind: string }[];
  };
  roleRef: { kind: string; name: string };
  subjects?: Subject[];
}

/** Returns a UserBinding as `kubectl apply` writes it. */
export const aBinding = (name: string, spec: Record<string, unknown> = {}): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'UserBinding',
  metadata: { name },
  spec: { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'platform', ...spec },
});

export const aNamespace = (name: string, project?: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, ...(project !== undefined && { labels: { 'console.platform.io/project': project } }) },
});

export const aGroup = (name: string, members: readonly string[], spec: Record<string, unknown> = {}): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'Group',
  metadata: { name },
  spec: { displayName: name, ...(members.length > 0 && { users: members.map((member) => ({ name: member })) }), ...spec },
});

/** Returns a user of an issuer before the first login: the name in Kubernetes is unknown. */
export const notYet = (email: string): Manifest => {
  const { status: _status, ...user } = aUser(email);
  return { ...user, spec: { ...(user.spec as object), connector_type: 'oidc', connector_id: 'corp', connector_name: 'Corp' } };
};

/** UserBindings of the cluster, and the RBAC objects that were created for them. */
export class Bindings {
  readonly #admin: ClusterAdmin;

  constructor(admin: ClusterAdmin) {
    this.#admin = admin;
  }

  async read(name: string): Promise<UserBinding | undefined> {
    const { status, body } = await this.#admin.call('GET', `${bindingsPath}/${name}`);
    return status === 200 ? (body as UserBinding) : undefined;
  }

  /** Waits until the status is about the current spec, and the binding is as wanted. */
  until(name: string, phase: string, isWanted: (found: UserBinding) => boolean = () => true): Promise<UserBinding> {
    return eventually(
      async () => (await this.read(name)) as UserBinding,
      (found) => found?.status?.phase === phase && found.status.observedGeneration === found.metadata.generation && isWanted(found),
    );
  }

  /** Returns all objects that are labelled for the UserBinding, cluster-wide ones first. */
  async made(name: string): Promise<Made[]> {
    const selector = `labelSelector=${encodeURIComponent(`auth.platform.io/userbinding=${name}`)}`;
    const lists = await Promise.all(
      ['clusterrolebindings', 'rolebindings'].map((plural) => this.#admin.call('GET', `/apis/${rbac}/v1/${plural}?${selector}`)),
    );
    return lists.flatMap(({ body }) => (body as { items: Made[] }).items);
  }

  /** Returns subjects such as `User jane in shop`, sorted. */
  async bound(name: string): Promise<string[]> {
    const made = await this.made(name);
    return made
      .flatMap(({ metadata: { namespace }, subjects = [] }) =>
        subjects.map((subject) => `${subject.kind} ${subject.name}${namespace ? ` in ${namespace}` : ''}`),
      )
      .sort();
  }

  untilBound(name: string, wanted: readonly string[]): Promise<string[]> {
    return eventually(
      () => this.bound(name),
      (bound) => JSON.stringify(bound) === JSON.stringify([...wanted].sort()),
    );
  }

  async remove(name: string): Promise<void> {
    await this.#admin.remove(`${bindingsPath}/${name}`);
  }

  untilGone(name: string): Promise<unknown> {
    return eventually(
      () => this.read(name),
      (found) => found === undefined,
    );
  }
}

export const conditionOf = ({ status }: UserBinding, type: string) => status?.conditions?.find((one) => one.type === type);

/**
 * Creates Users and Groups, and waits until the service knows them: it takes an unknown name for a Kubernetes name. Changes of another
 * watch may arrive before.
 */
export async function applyKnown(server: Pick<TestServer, 'kubernetes' | 'request'>, ...objects: readonly Manifest[]): Promise<void> {
  await server.kubernetes.apply(...objects);
  for (const { kind, metadata } of objects)
    await eventually(
      () => server.request(`/auth/v1/${kind.toLowerCase()}s/${metadata.name}`, { as: 'admin' }),
      ({ status }) => status === 200,
    );
}

/** Deletes a ClusterRole, and waits until the service knows it. */
export async function removeRole(server: Pick<TestServer, 'kubernetes' | 'request'>, name: string): Promise<void> {
  await server.kubernetes.remove(`/apis/${rbac}/v1/clusterroles/${name}`);
  const { spec } = aBinding('probe', { roleRef: name });
  await eventually(
    () => server.request('/auth/v2/userbindings?dryRun=All', { method: 'POST', as: 'admin', body: { metadata: { name: 'probe' }, spec } }),
    ({ status }) => status === 422,
  );
}

/** Lets `manager` write all UserBindings and bind these ClusterRoles, and `alice` write all and bind no role. */
export async function grantBinding(cluster: ClusterAdmin, resourceNames: readonly string[]): Promise<void> {
  await cluster.apply({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'binders' },
    rules: [{ apiGroups: [rbac], resources: ['clusterroles'], resourceNames, verbs: ['bind'] }],
  });
  await grant(cluster, 'manager', 'binders');
  await grant(cluster, 'manager', 'atrium-users-admin');
  await grant(cluster, 'alice', 'atrium-users-admin');
}
