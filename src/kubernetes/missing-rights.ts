/** Refusals of the service's own account that no retry cures, because the cluster lacks manifests of the installation. */
import { type GroupResource, installationIncomplete, type StatusError } from '../api/status.ts';
import { isRefusal } from './upstream-error.ts';

interface Right extends GroupResource {
  verb: string;
}

const manifests = 'deploy/manifests';

/** Returns the manifest that grants a permission, and the value of the chart that does. */
function grantOf({ verb, group, resource }: Right): string {
  const file = (name: string, value: string) => `apply ${manifests}/${name}, or set ${value} in the chart`;
  if (verb.startsWith('impersonate')) return file('impersonation.yaml', 'rbac.impersonation');
  if (resource === 'accesstokens') return file('access-tokens.yaml', 'config.features.accessTokens');
  if (resource === 'accesspolicies' || resource === 'accessrequests' || group === 'admissionregistration.k8s.io')
    return file('access-requests.yaml', 'config.features.accessRequests');
  if (resource === 'certificatesigningrequests') return file('certificates.yaml', 'config.users.certificates.enabled');
  const isRead = verb === 'list' || verb === 'watch';
  const isBinding = group === 'rbac.authorization.k8s.io' && !isRead;
  if (isBinding || resource === 'userbindings') return file('user-bindings.yaml', 'config.features.userBindings');
  // Other resources are those of `lists.resources`.
  const isOurs = group.endsWith('.platform.io') || !isRead || ['configmaps', 'namespaces'].includes(resource) || resource.includes('role');
  return isOurs ? file('rbac.yaml', 'rbac.create') : 'grant it list and watch on them';
}

/** @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go */
const denial = /" cannot (\S{1,64}) resource "([a-z]{1,63})(?:\/[a-z]{1,63})?" in API group "([a-z0-9.]{0,253})"/;

/** Returns the permission that the authorizer denied, undefined for another refusal, such as one of an admission policy. */
function deniedRight(error: unknown): Right | undefined {
  if (!isRefusal(error, 403)) return undefined;
  const [, verb, resource, group] = denial.exec(error.status.message) ?? [];
  return verb === undefined || resource === undefined || group === undefined ? undefined : { verb, resource, group };
}

/** Returns a 503 that names the manifest to apply if the API server denied the service a permission, undefined for any other failure. */
export function rightMissing(error: unknown): StatusError | undefined {
  const right = deniedRight(error);
  if (right === undefined) return undefined;
  const verb = right.verb.replace(/:.*/, '');
  return installationIncomplete(right, 'RightsMissing', `the service's account may not ${verb} them; ${grantOf(right)}`, error);
}

/** Returns a 503 that names the manifest of a resource that the API server does not know. */
export const definitionMissing = (target: GroupResource, error?: unknown): StatusError =>
  installationIncomplete(target, 'DefinitionMissing', `the cluster does not have the definition; apply ${manifests}/crds`, error);

/** Returns the 503 for a failed list or watch, where 404 means a missing definition. */
export const watchRefusal = (error: unknown, target: GroupResource): StatusError | undefined =>
  isRefusal(error, 404) ? definitionMissing(target, error) : rightMissing(error);
