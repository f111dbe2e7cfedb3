import type { Connection } from '@atrium/kubernetes/connection.ts';
import { z } from 'zod';
import { apiServer, type OwnApiServer } from '../../support/api-server.ts';
import { ClusterAdmin, eventually, type Manifest } from '../../support/cluster-admin.ts';
import { CallRecorder, type Need, textOf } from './call-recorder.ts';
import { namespace } from './chart.ts';
import { grantsOf } from './granted.ts';

const kinds = new Set(['CustomResourceDefinition', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']);
const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const review = z.object({ status: z.object({ allowed: z.boolean() }) });

/**
 * A service account of the chart on its own cluster, with all calls recorded. Its calls are all allowed while it works, so that a right
 * that the chart does not grant stops no work. Afterwards the API server reviews the recorded calls with the rights of the chart.
 */
export class RecordedAccount {
  readonly admin: ClusterAdmin;
  readonly recorder: CallRecorder;
  readonly connection: Connection;
  readonly granted: readonly Need[];
  readonly #cluster: OwnApiServer;
  readonly #token: string;

  private constructor(cluster: OwnApiServer, admin: ClusterAdmin, recorder: CallRecorder, token: string, granted: readonly Need[]) {
    this.admin = admin;
    this.recorder = recorder;
    this.granted = granted;
    this.#cluster = cluster;
    this.#token = token;
    const authorization = async () => `Bearer ${token}`;
    this.connection = { server: recorder.url, tls: {}, namespace, authorization, discardAuthorization() {} };
  }

  /** @param objects of the chart, whose roles and definitions are applied */
  static async start(name: string, objects: readonly Manifest[]): Promise<RecordedAccount> {
    const cluster = await apiServer();
    const admin = new ClusterAdmin(cluster, await cluster.token('admin'));
    await admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await admin.apply(...objects.filter(({ kind }) => kinds.has(kind)));
    await admin.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'everything' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    });
    const token = await admin.serviceToken(name);
    const recorder = new CallRecorder(cluster, token);
    await recorder.start();
    return new RecordedAccount(cluster, admin, recorder, token, grantsOf(objects, { name, namespace }));
  }

  /** Returns the recorded calls that the rights of the chart do not allow. */
  async excess(): Promise<string[]> {
    await this.admin.remove(`${bindings}/everything`);
    const account = new ClusterAdmin(this.#cluster, this.#token);
    const isAllowed = async ({ verb, resource: whole, namespace, name }: Need) => {
      const [path = '', ...rest] = whole.split('/');
      const subresource = rest.join('/');
      const [resource = '', ...group] = path.split('.');
      const spec = whole.startsWith('/')
        ? { nonResourceAttributes: { verb, path: whole } }
        : { resourceAttributes: { verb, group: group.join('.'), resource, subresource, namespace, name } };
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec };
      return review.parse((await account.call('POST', reviews, body)).body).status.allowed;
    };
    const never = { verb: 'escalate', resource: 'clusterroles.rbac.authorization.k8s.io', namespace: '', name: '' };
    await eventually(
      () => isAllowed(never),
      (allowed) => !allowed,
    );
    const needs = new Map(this.recorder.needs.map((need) => [textOf(need), need]));
    const refused: string[] = [];
    for (const [text, need] of needs) if (!(await isAllowed(need))) refused.push(text);
    await account.close();
    return refused;
  }

  async stop(): Promise<void> {
    await this.recorder.stop();
    await this.admin.close();
    await this.#cluster.stop();
  }
}
