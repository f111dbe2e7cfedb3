/**
 * Access, rules and token reviews, which are answered and not stored. Refusals and their texts follow the API server (1.36).
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/
 */
import { type FieldError, invalidValue } from '@atrium/objects/field-error.ts';
import { badRequest, invalid } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { timestamp } from './objects.ts';
import type { AccessAttributes, Rbac } from './rbac.ts';
import type { TokenIdentity, UserInfo } from './tokens.ts';

export type AccessReviewResource =
  | 'localsubjectaccessreviews'
  | 'selfsubjectaccessreviews'
  | 'selfsubjectrulesreviews'
  | 'subjectaccessreviews';

const AUTHORIZATION = 'authorization.k8s.io';
const AUTHENTICATION = 'authentication.k8s.io';

const text = z.string().nullish();
const texts = z.array(z.string()).nullish();
/** RBAC ignores selectors: they are returned, and not checked. */
const selector = z.record(z.string(), z.unknown()).nullish();

/** Metadata that a review may not have. */
const metadataSchema = z
  .object({ name: text, generateName: text, uid: text, labels: selector, annotations: selector, finalizers: texts })
  .nullish();

const accessSpec = z.object({
  resourceAttributes: z
    .object({
      ...{ namespace: text, verb: text, group: text, version: text, resource: text, subresource: text, name: text },
      ...{ fieldSelector: selector, labelSelector: selector },
    })
    .nullish(),
  nonResourceAttributes: z.object({ path: text, verb: text }).nullish(),
});
const subjectSpec = accessSpec.extend({
  user: text,
  groups: texts,
  extra: z.record(z.string(), z.array(z.string())).nullish(),
  uid: text,
});
type AccessSpec = z.infer<typeof accessSpec>;

/**
 * Answers a review of `authorization.k8s.io/v1`.
 *
 * @throws StatusError 400 for a body that cannot be read, 422 for one that asks nothing or too much
 */
export function createReview(
  resource: AccessReviewResource,
  { rbac, user, namespace: place }: { rbac: Rbac; user: UserInfo; namespace: string | undefined },
  body: unknown,
): object {
  switch (resource) {
    case 'selfsubjectaccessreviews': {
      const kind = 'SelfSubjectAccessReview';
      const spec = read(AUTHORIZATION, kind, accessSpec, body);
      refuse(accessErrors(spec));
      return decided(kind, spec, rbac.authorize(user, attributesOf(spec)));
    }
    case 'localsubjectaccessreviews':
    case 'subjectaccessreviews': {
      const isLocal = resource === 'localsubjectaccessreviews';
      const kind = isLocal ? 'LocalSubjectAccessReview' : 'SubjectAccessReview';
      const spec = read(AUTHORIZATION, kind, subjectSpec, body);
      const { user: username, uid, groups, extra } = spec;
      const isNamed = username || groups?.length;
      refuse([
        ...accessErrors(spec),
        ...(isLocal && spec.resourceAttributes && (spec.resourceAttributes.namespace ?? '') !== place
          ? [invalidValue('spec.resourceAttributes.namespace', spec.resourceAttributes.namespace ?? '', 'must match metadata.namespace')]
          : []),
        ...(isNamed ? [] : [invalidValue('spec.user', '', 'at least one of user or group must be specified')]),
      ]);
      const subject = { username: username ?? '', uid: uid ?? '', groups: groups ?? [], ...(extra && { extra }) };
      return decided(kind, spec, rbac.authorize(subject, attributesOf(spec)));
    }
    case 'selfsubjectrulesreviews': {
      const kind = 'SelfSubjectRulesReview';
      const { namespace } = read(AUTHORIZATION, kind, z.object({ namespace: text }), body);
      if (!namespace) throw badRequest('no namespace on request');
      return answer(AUTHORIZATION, kind, { spec: {}, status: rbac.rulesFor(user, namespace) });
    }
  }
}

/** Answers a SelfSubjectReview of `authentication.k8s.io/v1` with the caller. @throws StatusError 400 */
export function createSelfSubjectReview(user: UserInfo, body: unknown): object {
  const kind = 'SelfSubjectReview';
  read(AUTHENTICATION, kind, z.unknown(), body);
  return answer(AUTHENTICATION, kind, {
    metadata: { creationTimestamp: timestamp(new Date()) },
    status: { userInfo: withoutEmpty(user) },
  });
}

/** Answers a TokenReview of `authentication.k8s.io/v1` with the owner of the token. @throws StatusError 400 */
export async function createTokenReview(
  authenticator: { identify(token: string, audiences: readonly string[]): Promise<TokenIdentity | undefined> },
  body: unknown,
): Promise<object> {
  const kind = 'TokenReview';
  const spec = read(AUTHENTICATION, kind, z.object({ token: text, audiences: texts }), body);
  if (!spec.token) throw badRequest('token is required for TokenReview in authentication');
  const identity = await authenticator.identify(spec.token, spec.audiences ?? []);
  const status = identity
    ? { authenticated: true, user: withoutEmpty(identity.user), audiences: identity.audiences }
    : { user: {}, error: 'invalid bearer token' };
  return answer(AUTHENTICATION, kind, { spec: withoutEmpty(spec), status });
}

const decided = (kind: string, spec: AccessSpec, { allowed, reason }: { allowed: boolean; reason: string }) =>
  answer(AUTHORIZATION, kind, { spec: withoutEmpty(spec), status: { allowed, ...(reason && { reason }) } });

function attributesOf({ resourceAttributes, nonResourceAttributes: path }: AccessSpec): AccessAttributes {
  if (path) return { verb: path.verb ?? '', path: path.path ?? '' };
  const { fieldSelector: _field, labelSelector: _label, ...given } = resourceAttributes ?? {};
  const named = Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { verb: '', ...Object.fromEntries(named), version: given.version || '*' };
}

function accessErrors({ resourceAttributes, nonResourceAttributes }: AccessSpec): FieldError[] {
  if (resourceAttributes && nonResourceAttributes) {
    // The API server shows the field names of its own struct here.
    const shown = { Path: nonResourceAttributes.path ?? '', Verb: nonResourceAttributes.verb ?? '' };
    return [invalidValue('spec.nonResourceAttributes', shown, 'cannot be specified in combination with resourceAttributes')];
  }
  if (resourceAttributes || nonResourceAttributes) return [];
  return [invalidValue('spec.resourceAttributes', null, 'exactly one of nonResourceAttributes or resourceAttributes must be specified')];
}

function refuse(errors: FieldError[]) {
  // The API server loses the kind in this answer: its text begins with the bare group.
  if (errors.length) throw invalid({ group: AUTHORIZATION, kind: '', name: '' }, errors);
}

/** Reads `spec` of a review of this kind. apiVersion and kind may be omitted, and unknown members are dropped. */
function read<T>(group: string, kind: string, spec: z.ZodType<T>, body: unknown): T {
  const type = z.object({ apiVersion: text, kind: text }).safeParse(body);
  if (!type.success) throw badRequest(`the object provided is unrecognized (must be of type ${kind})`);
  const given = type.data.kind || kind;
  const apiVersion = type.data.apiVersion || `${group}/v1`;
  const cannotBeHandled = `${given} in version "${apiVersion.split('/').at(-1)}" cannot be handled as a ${kind}`;
  if (given !== kind || apiVersion !== `${group}/v1`) {
    throw badRequest(`${cannotBeHandled}: no kind "${given}" is registered for version "${apiVersion}"`);
  }
  const result = z.object({ metadata: metadataSchema, spec: z.preprocess((value) => value ?? {}, spec) }).safeParse(body);
  const metadata = withoutEmpty(result.data?.metadata ?? {});
  if (group === AUTHORIZATION && Object.keys(metadata).length > 0) refuse([invalidValue('metadata', metadata, 'must be empty')]);
  if (result.success) return result.data.spec;
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join(', ');
  throw badRequest(`${cannotBeHandled}: ${problems}`);
}

const answer = (group: string, kind: string, rest: object) => ({ kind, apiVersion: `${group}/v1`, metadata: {}, ...rest });

/** Omits members without content at every depth, like the API server. Empty objects have a meaning and stay. */
function withoutEmpty(value: object): object {
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
      if (member === undefined || member === null || member === '' || (Array.isArray(member) && member.length === 0)) return [];
      if (typeof member !== 'object' || Array.isArray(member)) return [[key, member]];
      const inner = withoutEmpty(member);
      return ['extra', 'labels', 'annotations'].includes(key) && Object.keys(inner).length === 0 ? [] : [[key, inner]];
    }),
  );
}
