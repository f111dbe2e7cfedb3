import type { Caller } from '@atrium/http/caller.ts';
import type { AccessReviews, AccessStatus, ResourceAccess } from '@atrium/kubernetes/access.ts';
import { describedGrant, grantOf, isMaster, rolesAllowing } from '@atrium/kubernetes/rbac/grants.ts';
import { type AccessQuestion, compareWidths, rulesWidth } from '@atrium/kubernetes/rbac/rules.ts';
import type { NamedRole, RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import type { Explanation, ReviewSpec } from './schema.ts';

/** Bound of the roles whose visibility is reviewed, the narrowest first. */
const maxRoles = 20;

const unknown: Explanation = { source: 'unknown' };

export interface ExplainedReview {
  spec: ReviewSpec;
  /** Answer of the API server. */
  status: AccessStatus;
  caller: Caller;
  signal: AbortSignal;
}

/**
 * Explains a review that RBAC decided: by the grant that allows it, or by the roles that would allow it, if the caller may get those.
 * Explanations do not change the answer.
 */
export class Explainer {
  readonly #access: AccessReviews;
  readonly #rbac: RbacWatch;

  /** @param rbac with the rules of roles */
  constructor(access: AccessReviews, rbac: RbacWatch) {
    this.#access = access;
    this.#rbac = rbac;
  }

  async explain({ spec, status, caller, signal }: ExplainedReview): Promise<Explanation> {
    const question = questionOf(spec);
    if (question === undefined || !this.#rbac.isSynced) return unknown;
    const grant = grantOf(this.#rbac, caller.identity, question);
    if (status.allowed) return grant === undefined ? unknown : { source: 'rbac', ...describedGrant(grant) };
    // If the roles allow it, or another authorizer denies it, further roles would not help.
    if (status.denied === true || grant !== undefined || isMaster(caller.identity)) return unknown;
    try {
      return { source: 'rbac', roles: await this.#rolesToTell(question, caller, signal) };
    } catch (error) {
      if (signal.aborted) throw error;
      return unknown;
    }
  }

  async #rolesToTell(question: AccessQuestion, caller: Caller, signal: AbortSignal) {
    const roles = rolesAllowing(this.#rbac, question).sort(byWidth).slice(0, maxRoles);
    const mayGet = await this.#access.canEach(caller, roles.map(gettingOf), signal);
    return roles.filter((_role, index) => mayGet[index]).map(({ kind, name, namespace }) => ({ kind, name, namespace }));
  }
}

/** Returns the question; undefined for a spec without one or with two, which the API server refuses. */
function questionOf(spec: ReviewSpec): AccessQuestion | undefined {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec ?? {};
  if (resource) {
    return {
      verb: resource.verb ?? '',
      group: resource.group ?? '',
      resource: resource.resource ?? '',
      subresource: resource.subresource ?? '',
      namespace: resource.namespace ?? '',
      name: resource.name ?? '',
    };
  }
  return path ? { verb: path.verb ?? '', path: path.path ?? '' } : undefined;
}

const gettingOf = ({ kind, name, namespace }: NamedRole): ResourceAccess => ({
  verb: 'get',
  group: 'rbac.authorization.k8s.io',
  resource: kind === 'Role' ? 'roles' : 'clusterroles',
  name,
  ...(namespace !== '' && { namespace }),
});

/** Sorts roles of the namespace first, then other roles, then those of Kubernetes; within each the narrowest first. */
function byWidth(left: NamedRole, right: NamedRole): number {
  return compareWidths(widthOf(left), widthOf(right)) || (left.name < right.name ? -1 : 1);
}

const widthOf = (role: NamedRole): number[] => [role.kind === 'Role' ? 0 : 1, role.name.startsWith('system:') ? 1 : 0, ...rulesWidth(role)];
