/** Requests that are refused for every caller (docs/contract/kubernetes.md). The API server decides about the others. */
import type { Context } from 'koa';
import { badRequest, StatusError, unknownPath } from '../api/status.ts';
import type { Config } from '../config/schema.ts';
import { hasBody } from '../http/body.ts';
import type { Caller } from '../http/operation.ts';
import { isWrite, requireSensitiveWrite, sensitiveWriteOf } from '../http/sensitive-writes.ts';
import { upgradeOf } from '../http/upgrade.ts';
import type { Services } from '../services.ts';
import type { Target, TargetResource } from './target.ts';

type ProxyRules = Config['kubernetes']['proxy'];

type RulesContext = Pick<Services, 'config' | 'namespace' | 'now'>;

interface Checked {
  /** Refusal for a body that creates a Secret with a token of a service account. */
  tokenSecretRefusal: StatusError | undefined;
}

/** @throws StatusError 400, 401, 403, 404 */
export function checkRequest(ctx: Context, caller: Caller, target: Target, services: RulesContext): Checked {
  const rules = services.config.kubernetes.proxy;
  if (Object.keys(ctx.req.headers).some((name) => name.startsWith('impersonate-'))) throw impersonationNotSupported();
  if (!rules.paths.some((path) => isBelow(target.segments, path))) throw unknownPath();
  if (['GET', 'HEAD', 'OPTIONS'].includes(ctx.method) && hasBody(ctx.req)) throw badRequest(`a ${ctx.method} has no body here`);
  if (isProxy(target)) checkProxy(ctx, caller, rules);
  if (rules.readOnly && !isRead(ctx, target)) throw refused('ReadOnly', 'this service lets the Kubernetes API be read only');
  return { tokenSecretRefusal: checkSensitiveWrite(ctx.method, target.resource, caller, services) };
}

const isBelow = (segments: readonly string[], path: string) =>
  path
    .slice(1)
    .split('/')
    .every((segment, index) => segments[index] === segment);

const impersonationNotSupported = () => {
  const message = 'Impersonate-* headers are not supported here: you act as yourself';
  return badRequest(message, [{ reason: 'ImpersonationNotSupported', message }]);
};

const refused = (reason: string, message: string) =>
  new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason, message }] } });

/** Reports whether a pod, a Service or a node answers instead of the API server. */
const isProxy = ({ resource }: Target): boolean =>
  resource !== undefined &&
  (resource.prefix === 'proxy' || (resource.subresource === 'proxy' && ['pods', 'services', 'nodes'].includes(resource.resource)));

function checkProxy({ req }: Context, { session }: Caller, { subresources }: ProxyRules): void {
  if (!subresources) throw refused('ProxySubresource', 'the subresource proxy is not passed on: use kubectl port-forward');
  if (session !== undefined)
    throw refused('ProxySubresource', 'the subresource proxy is passed on for bearer tokens only, not for a session');
  if (upgradeOf(req) !== undefined) throw refused('ProxySubresource', 'the subresource proxy opens no connection in another protocol');
}

/** Subresources that run something, whatever the method is. */
const running = ['exec', 'attach', 'portforward', 'proxy'];

const isRead = ({ method, req }: Context, { resource }: Target): boolean =>
  upgradeOf(req) === undefined &&
  !running.includes(resource?.subresource ?? '') &&
  resource?.prefix !== 'proxy' &&
  (['GET', 'HEAD', 'OPTIONS'].includes(method) || (method === 'POST' && isSelfReview(resource)));

const selfReviews = [
  'authentication.k8s.io/selfsubjectreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
];

/** Reports whether the request reviews the caller's own rights or identity, which creates nothing. */
const isSelfReview = (resource: TargetResource | undefined): boolean =>
  resource !== undefined && resource.subresource === '' && selfReviews.includes(`${resource.group}/${resource.resource}`);

/**
 * Requires the conditions of sensitive writes.
 *
 * @returns a refusal for Secrets with a token of a service account; the body decides whether it applies
 * @throws StatusError 401, 403
 */
function checkSensitiveWrite(
  method: string,
  resource: TargetResource | undefined,
  caller: Caller,
  { config, namespace, now }: RulesContext,
): StatusError | undefined {
  if (resource === undefined) return undefined;
  const isSecret = resource.group === '' && resource.resource === 'secrets';
  const isOwnSecret = isSecret && ['', namespace].includes(resource.namespace);
  const write = isOwnSecret && isWrite(method, 'ownSecrets') ? 'ownSecrets' : sensitiveWriteOf(method, resource);
  if (write !== undefined) requireSensitiveWrite(write, caller, config.login.stepUp, now());
  if (!isSecret || isOwnSecret || !isWrite(method, 'serviceAccountTokens')) return undefined;
  try {
    requireSensitiveWrite('serviceAccountTokens', caller, config.login.stepUp, now());
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}
