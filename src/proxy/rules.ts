/** What is not passed on for any caller (docs/contract/kubernetes.md). Beyond that the API server decides. */
import type { Context } from 'koa';
import { badRequest, StatusError, unknownPath } from '../api/status.ts';
import type { Config } from '../config/schema.ts';
import { hasBody } from '../http/body.ts';
import { requireNoAccessToken } from '../http/no-access-token.ts';
import type { Caller } from '../http/operation.ts';
import { requireStepUpFor, type StepUpOperation } from '../http/step-up.ts';
import { upgradeOf } from '../http/upgrade.ts';
import type { Services } from '../services.ts';
import type { Target, TargetResource } from './target.ts';

type ProxyRules = Config['kubernetes']['proxy'];

/** @throws StatusError 400, 401, 403, 404 */
export function checkRequest(ctx: Context, caller: Caller, target: Target, { config, now }: Pick<Services, 'config' | 'now'>): void {
  const rules = config.kubernetes.proxy;
  if (Object.keys(ctx.req.headers).some((name) => name.startsWith('impersonate-'))) throw impersonationNotSupported();
  if (!rules.paths.some((path) => isBelow(target.segments, path))) throw unknownPath();
  if (['GET', 'HEAD', 'OPTIONS'].includes(ctx.method) && hasBody(ctx.req)) throw badRequest(`a ${ctx.method} has no body here`);
  if (isProxy(target)) checkProxy(ctx, caller, rules);
  if (rules.readOnly && !isRead(ctx, target)) throw refused('ReadOnly', 'this service lets the Kubernetes API be read only');
  if (makesCredentials(ctx.method, target.resource)) requireNoAccessToken(caller, 'create or change this here');
  const guarded = stepUpOperationOf(ctx.method, target.resource);
  if (guarded !== undefined) requireStepUpFor(guarded, caller, config.login.stepUp, now());
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

/** Where something else than the API server answers: a pod, or a node. */
const isProxy = ({ resource }: Target): boolean =>
  resource !== undefined &&
  (resource.prefix === 'proxy' || (resource.subresource === 'proxy' && ['pods', 'services', 'nodes'].includes(resource.resource)));

function checkProxy({ req }: Context, { session }: Caller, { subresources }: ProxyRules): void {
  if (!subresources) throw refused('ProxySubresource', 'the subresource proxy is not passed on: use kubectl port-forward');
  if (session !== undefined)
    throw refused('ProxySubresource', 'the subresource proxy is passed on for bearer tokens only, not for a session');
  if (upgradeOf(req) !== undefined) throw refused('ProxySubresource', 'the subresource proxy opens no connection in another protocol');
}

/** They run something, whatever the method is. */
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

/** Of what the caller may do or is: it creates nothing. */
const isSelfReview = (resource: TargetResource | undefined): boolean =>
  resource !== undefined && resource.subresource === '' && selfReviews.includes(`${resource.group}/${resource.resource}`);

/**
 * What an access token could outlast itself by. By PATCH too, with which a server-side apply creates, and PUT, which may.
 */
function makesCredentials(method: string, resource: TargetResource | undefined): boolean {
  if (resource === undefined || !['POST', 'PUT', 'PATCH'].includes(method)) return false;
  const { group, resource: plural, subresource } = resource;
  return (
    group === 'auth.platform.io' ||
    (group === 'certificates.k8s.io' && plural === 'certificatesigningrequests') ||
    (group === '' && plural === 'serviceaccounts' && subresource === 'token')
  );
}

const stepUpOperations: Readonly<Record<string, StepUpOperation>> = {
  'auth.platform.io/userbindings': 'bindings',
  'rbac.authorization.k8s.io/rolebindings': 'bindings',
  'rbac.authorization.k8s.io/clusterrolebindings': 'bindings',
  'certificates.k8s.io/certificatesigningrequests': 'certificates',
  '/serviceaccounts/token': 'accessTokens',
};

/** What a write gives that an operation of ours gives, too. What takes away must go fast. */
function stepUpOperationOf(method: string, resource: TargetResource | undefined): StepUpOperation | undefined {
  if (resource === undefined || !['POST', 'PUT', 'PATCH'].includes(method)) return undefined;
  const { group, resource: plural, subresource } = resource;
  return stepUpOperations[`${group}/${plural}`] ?? stepUpOperations[`${group}/${plural}/${subresource}`];
}
