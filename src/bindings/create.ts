import { notFoundValue } from '../api/field-error.ts';
import { type FieldValidation, readObject } from '../api/object-body.ts';
import { invalid } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import { isRecord, type ResourceType } from '../kubernetes/resource.ts';
import { CallerResource, ServiceResource } from '../kubernetes/resource-client.ts';
import { seenWithinMs } from '../kubernetes/until.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { createdByAnnotation } from '../users/record/labels.ts';
import { bindingErrors, type NewBinding, newBindingBody } from './binding-body.ts';
import { bindingFinalizer, userBindingApiVersion, userBindingKind, userBindingResource } from './resource.ts';
import type { UserBindingRow } from './row.ts';

export interface UserBindingCreatorOptions {
  apiServer: ApiServer;
  access: AccessReviews;
  cache: Pick<WatchCache<UserBindingRow>, 'waitFor'>;
  /** Whether the ClusterRole exists, as far as that is known. */
  hasRole: (name: string) => boolean;
}

interface CreateRequest {
  body: unknown;
  isDryRun: boolean;
  fieldValidation: FieldValidation;
}

const clusterRoles: ResourceType = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' };

/** Makes UserBindings with the caller's rights. */
export class UserBindingCreator {
  readonly #options: UserBindingCreatorOptions;

  constructor(options: UserBindingCreatorOptions) {
    this.#options = options;
  }

  /**
   * A UserBinding becomes RBAC by the hand of the service, where the API server cannot see who wanted it; so a caller who makes one must be
   * allowed to bind its role. Where the API server has the chart's admission policy, it asks for the same.
   *
   * @returns the UserBinding, and the texts of warnings; @throws StatusError 400, 403, 409, 422, 503, 504
   */
  async create({ body, isDryRun, fieldValidation }: CreateRequest, caller: Caller, signal: AbortSignal) {
    const { apiServer, access, cache } = this.#options;
    await access.require(caller, { ...userBindingResource, verb: 'create' }, signal);
    const metadata = isRecord(body) && isRecord(body.metadata) ? body.metadata : {};
    const name = typeof metadata.name === 'string' ? metadata.name : '';
    const kind = { group: userBindingResource.group, kind: 'UserBinding', name };
    const { object, warnings } = readObject(newBindingBody, body, { ...kind, fieldValidation, alsoWrong: bindingErrors(body) });
    const { roleRef } = object.spec;
    await access.require(caller, { ...clusterRoles, verb: 'bind', name: roleRef }, signal);
    // Only a caller who may bind it learns whether it exists.
    if (!(await this.#hasRole(roleRef, signal))) throw invalid(kind, [notFoundValue('spec.roleRef', roleRef)]);
    const bindings = new CallerResource(apiServer.asCaller(caller), userBindingKind);
    const binding = await bindings.create(manifestOf(object, caller), { isDryRun, signal });
    if (!isDryRun) await cache.waitFor(binding.metadata.resourceVersion, seenWithinMs, signal);
    return { binding, warnings };
  }

  /** One that has only just been made may not have been seen yet. The service may list roles, but get none by name. */
  async #hasRole(name: string, signal: AbortSignal): Promise<boolean> {
    const { hasRole, apiServer } = this.#options;
    if (hasRole(name)) return true;
    // No name of an object, and nothing that could be asked for.
    if (!/^[^=,!\\]+$/.test(name)) return false;
    const roles = new ServiceResource(apiServer.asService, { type: clusterRoles, kind: 'ClusterRole' });
    for await (const _role of roles.list({ fieldSelector: `metadata.name=${name}` }, signal)) return true;
    return false;
  }
}

function manifestOf({ metadata = {}, spec }: NewBinding, caller: Caller) {
  const { name, generateName = 'binding-', labels, annotations } = metadata;
  return {
    apiVersion: userBindingApiVersion,
    kind: 'UserBinding',
    metadata: {
      ...(name === undefined ? { generateName } : { name }),
      ...(labels && { labels }),
      annotations: { ...annotations, [createdByAnnotation]: caller.identity.name },
      finalizers: [bindingFinalizer],
    },
    spec,
  };
}
