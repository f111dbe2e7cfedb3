/** Requests that are refused for every caller (docs/contract/kubernetes.md). The API server decides about the others. */
import { Readable } from 'node:stream';
import { refuseBody } from '@atrium/http/body.ts';
import { actorOf, type Caller, type Viewing } from '@atrium/http/caller.ts';
import { requireScope } from '@atrium/http/scope.ts';
import { requestBody } from '@atrium/http/slow-clients.ts';
import { viewWriteHeader, viewWriteOf } from '@atrium/http/view-headers.ts';
import { runningSubresources } from '@atrium/kubernetes/opened-connection.ts';
import type { PassedCall } from '@atrium/kubernetes/passage.ts';
import { accessOf, type Target, type TargetResource } from '@atrium/kubernetes/request-target.ts';
import { badRequest, StatusError, unknownPath } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import type { Config } from '../config/schema.ts';
import type { Services } from '../services.ts';
import { isWrite, requireSensitiveWrite, sensitiveWriteOf } from '../step-up/sensitive-writes.ts';

type RulesContext = Pick<Services, 'config' | 'namespace' | 'now'>;

interface Checked {
  /** Refusal for a body that creates a Secret with a token of a service account. */
  tokenSecretRefusal: StatusError | undefined;
}

/** @throws StatusError 400, 401, 403, 404 */
export function checkRequest(ctx: Context, caller: Caller, target: Target, services: RulesContext): Checked {
  const rules = services.config.kubernetes.proxy;
  if (!rules.paths.some((path) => isBelow(target.segments, path))) throw unknownPath();
  refuseBody(ctx.req, ['GET', 'HEAD', 'OPTIONS']);
  if (caller.scope !== undefined) requireScope(caller.scope, accessOf(ctx.method, target));
  if (isProxy(target)) checkProxy(target, caller, services.config);
  if (rules.readOnly && !isRead(ctx.method, target))
    throw refused('ReadOnly', 'the Kubernetes API is read-only in this installation (kubernetes.proxy.readOnly)');
  if (caller.viewing && !isRead(ctx.method, target)) checkViewedWrite(ctx, caller.viewing, target, services);
  return { tokenSecretRefusal: checkSensitiveWrite(ctx.method, target.resource, actorOf(caller), services) };
}

/** Requires the switch for a write as another user. A recent login is that of the caller. @throws StatusError 400, 401, 403 */
function checkViewedWrite(ctx: Context, { by, target: { name } }: Viewing, target: Target, { config, now }: RulesContext): void {
  if (target.upgrade !== undefined || isRunning(target))
    throw refused('ViewAsReadOnly', 'exec, attach and port-forward are not allowed in a view as another user');
  const named = viewWriteOf(ctx.req);
  if (config.kubernetes.viewAs !== 'write')
    throw refused('ViewAsReadOnly', 'a view as another user is read-only in this installation (kubernetes.viewAs)');
  if (named === undefined) throw refused('ViewAsReadOnly', `a write as another user needs the header ${viewWriteHeader}: ${name}`);
  if (named !== name) {
    const message = `${viewWriteHeader}: must name the same user as Impersonate-User`;
    throw badRequest(message, [{ reason: 'FieldValueInvalid', message, field: viewWriteHeader }]);
  }
  requireSensitiveWrite('viewAsWrites', by, config.login.stepUp, now());
}

const isBelow = (segments: readonly string[], path: string) =>
  path
    .slice(1)
    .split('/')
    .every((segment, index) => segments[index] === segment);

const refused = (reason: string, message: string) =>
  new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason, message }] } });

/** Reports whether a pod, a Service or a node answers instead of the API server. */
const isProxy = ({ resource }: Target): boolean =>
  resource !== undefined &&
  (resource.prefix === 'proxy' || (resource.subresource === 'proxy' && ['pods', 'services', 'nodes'].includes(resource.resource)));

/** Paths of the kubelet that open no shell, as in the admission policy for direct shells. */
const withoutShells = ['metrics', 'stats', 'healthz', 'configz', 'pods', 'logs', 'containerLogs'];

/** Reports whether the kubelet may answer by a shell or a command, which the service could not record. */
function opensShell({ resource, segments }: Target): boolean {
  const path = segments[resource?.prefix === 'watch' ? 6 : 5] ?? '';
  return resource?.resource === 'nodes' && !withoutShells.includes(path);
}

function checkProxy(target: Target, { session }: Caller, { kubernetes, audit }: Config): void {
  const { upgrade } = target;
  if (!kubernetes.proxy.subresources) throw refused('ProxySubresource', 'the subresource proxy is not passed on: use kubectl port-forward');
  if (session !== undefined)
    throw refused('ProxySubresource', 'the subresource proxy is passed on for bearer tokens only, not for a session');
  if (upgrade !== undefined) throw refused('ProxySubresource', 'the subresource proxy opens no connection in another protocol');
  if (opensShell(target) && audit.recordings.some(({ mode }) => mode !== 'off'))
    throw refused('ShellNotRecorded', 'the kubelet runs commands at this path, which have no recording: use exec of the pod');
}

const isRunning = ({ resource }: Target): boolean =>
  runningSubresources.includes(resource?.subresource ?? '') || resource?.prefix === 'proxy';

export const isRead = (method: string, target: Target): boolean =>
  target.upgrade === undefined &&
  !isRunning(target) &&
  (['GET', 'HEAD', 'OPTIONS'].includes(method) || (method === 'POST' && isSelfReview(target.resource)));

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

type Body = NonNullable<PassedCall['body']>;

/** Bound of a body: the API server accepts 1 MiB of data in a Secret, which the body holds in base64. */
const maxSecretBytes = 1.5 * 1024 * 1024;

/** Types, the annotation for the account, and the entry of a bootstrap token, also in a path of a JSON Patch. */
const tokenSecret = /kubernetes\.io(?:\\?\/|~1)(?:service-account|token)|(?<![-\w.])token-secret(?![-\w.])/;
/** Escapes of letters, which encoders do not write and which could hide the type. */
const jsonEscape = /\\u00(?:2[d-f]|31|[67][0-9a-f])/i;
/** Escapes in YAML, which has more of them, folds lines within them, and decodes base64 for a tag. */
const yamlEscape = /\\[^"\\bfnrt]|!/;

const jsonType = /^application\/(?:[-a-z]+\+)?json$/;
const yamlTypes = ['application/yaml', 'application/apply-patch+yaml'];

/**
 * Reads the body of a write of a Secret. A Secret of the type `kubernetes.io/service-account-token` gets a token without expiry, in any
 * namespace. A Secret of the type `bootstrap.kubernetes.io/token` is itself a token, with which a node joins. Only the body shows the type.
 *
 * @param refusal thrown for a token Secret, and for a body that cannot be read: protobuf, CBOR, unusual escapes, over 1.5 MiB
 * @returns the body to send on
 */
export async function withoutTokenSecret(ctx: Context, refusal: StatusError): Promise<Body> {
  const [mediaType = ''] = (ctx.req.headers['content-type'] ?? 'application/json').split(';', 1);
  const type = mediaType.trim().toLowerCase();
  const hiding = jsonType.test(type) ? jsonEscape : yamlTypes.includes(type) ? yamlEscape : undefined;
  if (hiding === undefined) throw refusal;
  const bytes = await read(requestBody(ctx, maxSecretBytes), refusal);
  // Latin-1 maps each byte to a character, and keeps ASCII. UTF-16 has a zero byte for each ASCII character.
  const text = bytes.toString('latin1');
  if (text.includes('\0') || tokenSecret.test(text) || hiding.test(text)) throw refusal;
  return { stream: Readable.from([bytes], { objectMode: false }), length: bytes.length };
}

async function read(body: Readable, refusal: StatusError): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body) chunks.push(chunk);
  } catch {
    // The body is too large, or was aborted.
    throw refusal;
  }
  return Buffer.concat(chunks);
}
