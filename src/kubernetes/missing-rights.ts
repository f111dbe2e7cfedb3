/** Refusals of our own account that no retry cures: the cluster lacks what an installation applies. */
import { type GroupResource, installationIncomplete, type StatusError } from '../api/status.ts';
import { isRefusal } from './upstream-error.ts';

interface Right extends GroupResource {
  verb: string;
}

const manifests = 'deploy/manifests';

/** The file that grants a right, and the value of the chart that does. */
function grantOf({ verb, group, resource }: Right): string {
  const file = (name: string, value: string) => `apply ${manifests}/${name}, or set ${value} in the chart`;
  if (verb.startsWith('impersonate')) return file('impersonation.yaml', 'rbac.impersonation');
  if (resource === 'accesstokens') return file('access-tokens.yaml', 'config.features.accessTokens');
  if (resource === 'certificatesigningrequests') return file('certificates.yaml', 'config.users.certificates.enabled');
  const isRead = verb === 'list' || verb === 'watch';
  const isBinding = group === 'rbac.authorization.k8s.io' && !isRead;
  if (isBinding || resource === 'userbindings') return file('user-bindings.yaml', 'config.features.userBindings');
  // Lists of any resource are of the configuration.
  const isOurs = group.endsWith('.platform.io') || !isRead || ['configmaps', 'namespaces'].includes(resource) || resource.includes('role');
  return isOurs ? file('rbac.yaml', 'rbac.create') : 'grant it list and watch on them';
}

/** @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go */
const denial = /" cannot (\S{1,64}) resource "([a-z]{1,63})(?:\/[a-z]{1,63})?" in API group "([a-z0-9.]{0,253})"/;

/** The right that the authorizer denied; undefined for another refusal, such as one of an admission policy. */
function deniedRight(error: unknown): Right | undefined {
  if (!isRefusal(error, 403)) return undefined;
  const [, verb, resource, group] = denial.exec(error.status.message) ?? [];
  return verb === undefined || resource === undefined || group === undefined ? undefined : { verb, resource, group };
}

/** Returns a 503 that names the manifest to apply if the API server denied our account a right. Undefined for any other failure. */
export function rightMissing(error: unknown): StatusError | undefined {
  const right = deniedRight(error);
  if (right === undefined) return undefined;
  const verb = right.verb.replace(/:.*/, '');
  return installationIncomplete(right, 'RightsMissing', `the service's account may not ${verb} them; ${grantOf(right)}`, error);
}

/** The same where the API server does not know the resource. */
export const definitionMissing = (target: GroupResource, error?: unknown): StatusError =>
  installationIncomplete(target, 'DefinitionMissing', `the cluster does not have the definition; apply ${manifests}/crds`, error);

/** Returns the same for a list or watch, where 404 means a missing definition. */
export const watchRefusal = (error: unknown, target: GroupResource): StatusError | undefined =>
  isRefusal(error, 404) ? definitionMissing(target, error) : rightMissing(error);
