import { truncate } from 'node:fs/promises';
import type { TrustedIssuer } from '../cluster/authentication-config.ts';
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts';
import { EtcdState } from '../cluster/etcd-state.ts';
import type { ApiServer } from './api-server.ts';
import { ClusterAdmin, eventually } from './cluster-admin.ts';

/** Selects keys that the API server is slow to revert. A plane on which a suite has changed them is not reused. */
const isLasting = (key: string) => /^\/registry\/(apiextensions|apiregistration|.*admission)/.test(key);

/** API paths of the built-in resources that suites create; etcd's keys do not contain them. */
const groupOf: Record<string, string> = {
  namespaces: '/api/v1',
  configmaps: '/api/v1',
  secrets: '/api/v1',
  serviceaccounts: '/api/v1',
  clusterroles: '/apis/rbac.authorization.k8s.io/v1',
  clusterrolebindings: '/apis/rbac.authorization.k8s.io/v1',
  roles: '/apis/rbac.authorization.k8s.io/v1',
  rolebindings: '/apis/rbac.authorization.k8s.io/v1',
  leases: '/apis/coordination.k8s.io/v1',
};

const idle: ReusedPlane[] = [];

/**
 * A control plane that the suites of a process use one after the other. Between suites it is reset to its state after the installation: its
 * start and the installation take more CPU time than most suites.
 */
export class ReusedPlane {
  readonly plane: ControlPlane;
  readonly #admin: ClusterAdmin;
  readonly #installed: EtcdState;
  #trusts = false;

  private constructor(plane: ControlPlane, admin: ClusterAdmin, installed: EtcdState) {
    this.plane = plane;
    this.#admin = admin;
    this.#installed = installed;
  }

  /** @param connect returns a connection to its API server */
  static async take(people: readonly string[], connect: (plane: ControlPlane) => Promise<ApiServer>): Promise<ReusedPlane> {
    const free = idle.pop();
    if (free) {
      free.plane.keepsProcess(true);
      await truncate(free.plane.auditLog);
      return free;
    }
    const plane = await startControlPlane({ people });
    const server = await connect(plane);
    const admin = new ClusterAdmin(server, await server.token('admin'));
    await admin.install();
    // kube-controller-manager looks for new kinds every 30 s only, and until then collects no garbage of their owners.
    await plane.controllerManager.kill();
    await plane.controllerManager.start();
    // Controllers get their service accounts at their first call. An account that came later would be removed with the objects of a suite.
    for (const account of ['generic-garbage-collector', 'namespace-controller'])
      await eventually(
        () => admin.call('GET', `/api/v1/namespaces/kube-system/serviceaccounts/${account}`),
        ({ status }) => status === 200,
      );
    return new ReusedPlane(plane, admin, await EtcdState.read(plane.etcdURL));
  }

  async trust(...issuers: readonly TrustedIssuer[]): Promise<void> {
    this.#trusts = true;
    for (const issuer of issuers) await this.plane.trustIssuer(issuer);
    await this.plane.restartApiServer();
  }

  /** Returns the plane for the next suite, or ends it if the suite has changed lasting keys. */
  async giveBack(): Promise<void> {
    const changes = await this.#installed.changes();
    if ([...changes.added, ...changes.changed].some(isLasting)) {
      await this.#admin.close();
      return this.plane.stop();
    }
    if (this.#trusts) await this.plane.trustNobody();
    this.#trusts = false;
    await this.#installed.restore(changes);
    await this.#untilForgotten(changes.added);
    this.plane.keepsProcess(false);
    idle.push(this);
  }

  /** Waits for the watch caches of the API server, which serve the lists of the service and lag behind etcd. */
  async #untilForgotten(keys: readonly string[]): Promise<void> {
    const names = new Map<string, Set<string>>();
    for (const key of keys) {
      const { path, name } = placeOf(key) ?? {};
      if (path && name) names.set(path, (names.get(path) ?? new Set()).add(name));
    }
    for (const [path, gone] of names)
      await eventually(
        async () => namesIn((await this.#admin.call('GET', `${path}?resourceVersion=0`)).body),
        (left) => !left.some((name) => gone.has(name)),
      );
  }
}

/** `/registry/secrets/NAMESPACE/NAME`, and `/registry/GROUP/PLURAL/NAME` of custom resources. */
function placeOf(key: string): { path: string; name: string } | undefined {
  const [, , first = '', ...rest] = key.split('/');
  if (first.endsWith('platform.io')) return { path: `/apis/${first}/v1/${rest[0]}`, name: rest.slice(1).join('/') };
  const group = groupOf[first];
  return group === undefined ? undefined : { path: `${group}/${first}`, name: rest.join('/') };
}

const namesIn = (body: unknown): string[] =>
  ((body as { items?: { metadata: { name: string; namespace?: string } }[] }).items ?? []).map(({ metadata: { name, namespace } }) =>
    namespace ? `${namespace}/${name}` : name,
  );
