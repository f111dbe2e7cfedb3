/**
 * Access, rules and token reviews: a body in, the answer out. What a review is refused for, and in which words, follows the API
 * server (1.36); nothing is stored.
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/
 */
import { z } from 'zod';
import { type FieldError, invalidValue } from '../../../src/api/field-error.ts';
import { badRequest, invalid } from '../../../src/api/status.ts';
import type { AccessAttributes, Rbac } from './rbac.ts';
import type { TokenIdentity, UserInfo } from './tokens.ts';

export type AccessReviewResource =
  | 'selfsubjectaccessreviews'
  | 'selfsubjectrulesreviews'
  | 'subjectaccessreviews'
  | 'localsubjectaccessreviews';

interface ReviewContext {
  rbac: Rbac;
  /** The caller. */
  user: UserInfo;
  /** That of the path; only for a LocalSubjectAccessReview. */
  namespace?: string;
}

const AUTHORIZATION = 'authorization.k8s.io';
const AUTHENTICATION = 'authentication.k8s.io';

const text = z.string().nullish();
const texts = z.array(z.string()).nullish();

/** What a review may not carry; server-side fields that clients do not send are left out. */
const metadataSchema = z.object({
  name: text,
  generateName: text,
  namespace: text,
  uid: text,
  resourceVersion: text,
  labels: z.record(z.string(), z.string()).nullish(),
  annotations: z.record(z.string(), z.string()).nullish(),
  finalizers: texts,
});

/** RBAC does not look at selectors: they are repeated, and not checked. */
const selector = z.record(z.string(), z.unknown()).nullish();
const resourceAttributes = z.object({
  ...{ namespace: text, verb: text, group: text, version: text, resource: text, subresource: text, name: text },
  ...{ fieldSelector: selector, labelSelector: selector },
});

const accessSpecSchema = z.object({
  resourceAttributes: resourceAttributes.nullish(),
  nonResourceAttributes: z.object({ path: text, verb: text }).nullish(),
});
const subjectSpecSchema = accessSpecSchema.extend({
  user: text,
  groups: texts,
  extra: z.record(z.string(), z.array(z.string())).nullish(),
  uid: text,
});
type SubjectSpec = z.infer<typeof subjectSpecSchema>;

/**
 * One of the four reviews of `authorization.k8s.io/v1`.
 *
 * @throws StatusError 400 for a body that cannot be read, 422 for one that asks nothing or too much
 */
export function createReview(resource: AccessReviewResource, context: ReviewContext, body: unknown): object {
  switch (resource) {
    case 'selfsubjectaccessreviews':
      return selfAccessReview(context, body);
    case 'subjectaccessreviews':
      return subjectAccessReview(context, body);
    case 'localsubjectaccessreviews':
      return localAccessReview(context, body);
    case 'selfsubjectrulesreviews':
      return rulesReview(context, body);
  }
}

function selfAccessReview({ rbac, user }: ReviewContext, body: unknown): object {
  const kind = 'SelfSubjectAccessReview';
  const { metadata, spec } = read(AUTHORIZATION, kind, accessSpecSchema, body);
  refuse([...validateAccess(spec), ...validateMetadata(metadata)]);
  return answer(AUTHORIZATION, kind, { spec: withoutEmpty(spec), status: decide(rbac, user, spec) });
}

function subjectAccessReview({ rbac }: ReviewContext, body: unknown): object {
  const kind = 'SubjectAccessReview';
  const { metadata, spec } = read(AUTHORIZATION, kind, subjectSpecSchema, body);
  refuse([...validateAccess(spec), ...validateSubject(spec), ...validateMetadata(metadata)]);
  return answer(AUTHORIZATION, kind, { spec: withoutEmpty(spec), status: decide(rbac, subjectOf(spec), spec) });
}

function localAccessReview({ rbac, namespace = '' }: ReviewContext, body: unknown): object {
  const kind = 'LocalSubjectAccessReview';
  const { metadata, spec } = read(AUTHORIZATION, kind, subjectSpecSchema, body);
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  refuse([
    ...validateAccess(spec),
    ...validateSubject(spec),
    ...validateMetadata(metadata, 'must be empty except for namespace'),
    ...validateLocal(spec, namespace),
  ]);
  const status = decide(rbac, subjectOf(spec), spec);
  return answer(AUTHORIZATION, kind, { metadata: { namespace }, spec: withoutEmpty(spec), status });
}

function rulesReview({ rbac, user }: ReviewContext, body: unknown): object {
  const kind = 'SelfSubjectRulesReview';
  const { spec } = read(AUTHORIZATION, kind, z.object({ namespace: text }), body);
  if (!spec.namespace) throw badRequest('no namespace on request');
  return answer(AUTHORIZATION, kind, { spec: {}, status: rbac.rulesFor(user, spec.namespace) });
}

/** Who the caller is: a SelfSubjectReview of `authentication.k8s.io/v1`. @throws StatusError 400 */
export function createSelfSubjectReview(user: UserInfo, body: unknown): object {
  const kind = 'SelfSubjectReview';
  read(AUTHENTICATION, kind, z.unknown(), body);
  const creationTimestamp = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  return answer(AUTHENTICATION, kind, { metadata: { creationTimestamp }, status: { userInfo: withoutEmpty(user) } });
}

/** Whose a token is: a TokenReview of `authentication.k8s.io/v1`. @throws StatusError 400 */
export async function createTokenReview(
  authenticator: { identify(token: string, audiences: readonly string[]): Promise<TokenIdentity | undefined> },
  body: unknown,
): Promise<object> {
  const kind = 'TokenReview';
  const { spec } = read(AUTHENTICATION, kind, z.object({ token: text, audiences: texts }), body);
  if (!spec.token) throw badRequest('token is required for TokenReview in authentication');
  const identity = await authenticator.identify(spec.token, spec.audiences ?? []);
  const status = identity
    ? { authenticated: true, user: withoutEmpty(identity.user), audiences: identity.audiences }
    : { user: {}, error: 'invalid bearer token' };
  return answer(AUTHENTICATION, kind, { spec: withoutEmpty(spec), status });
}

function decide(rbac: Rbac, user: UserInfo, { resourceAttributes, nonResourceAttributes }: z.infer<typeof accessSpecSchema>) {
  const { allowed, reason } = rbac.authorize(user, attributesOf(resourceAttributes ?? {}, nonResourceAttributes));
  return { allowed, ...(reason && { reason }) };
}

function attributesOf(
  { verb, group, version, resource, subresource, namespace, name }: NonNullable<SubjectSpec['resourceAttributes']>,
  path: SubjectSpec['nonResourceAttributes'],
): AccessAttributes {
  if (path) return { verb: path.verb ?? '', path: path.path ?? '' };
  return {
    verb: verb ?? '',
    group: group ?? '',
    version: version || '*',
    resource: resource ?? '',
    subresource: subresource ?? '',
    namespace: namespace ?? '',
    name: name ?? '',
  };
}

const subjectOf = ({ user, uid, groups, extra }: SubjectSpec): UserInfo => ({
  username: user ?? '',
  uid: uid ?? '',
  groups: groups ?? [],
  ...(extra && { extra }),
});

function validateAccess({ resourceAttributes, nonResourceAttributes }: z.infer<typeof accessSpecSchema>): FieldError[] {
  if (resourceAttributes && nonResourceAttributes)
    return [badPath(nonResourceAttributes, 'cannot be specified in combination with resourceAttributes')];
  if (resourceAttributes || nonResourceAttributes) return [];
  return [invalidValue('spec.resourceAttributes', null, 'exactly one of nonResourceAttributes or resourceAttributes must be specified')];
}

/** The API server shows the names of its own struct here. */
const badPath = ({ path, verb }: { path?: string | null | undefined; verb?: string | null | undefined }, detail: string) =>
  invalidValue('spec.nonResourceAttributes', { Path: path ?? '', Verb: verb ?? '' }, detail);

const validateSubject = ({ user, groups }: SubjectSpec): FieldError[] =>
  user || groups?.length ? [] : [invalidValue('spec.user', '', 'at least one of user or group must be specified')];

function validateMetadata(metadata: z.infer<typeof metadataSchema>, detail = 'must be empty'): FieldError[] {
  // The namespace is the path's concern: absent, the same, or refused before.
  const given = withoutEmpty({ ...metadata, namespace: '' });
  return Object.keys(given).length ? [invalidValue('metadata', given, detail)] : [];
}

function validateLocal({ resourceAttributes, nonResourceAttributes }: SubjectSpec, namespace: string): FieldError[] {
  const asked = resourceAttributes?.namespace ?? '';
  return [
    ...(resourceAttributes && asked !== namespace
      ? [invalidValue('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace')]
      : []),
    ...(nonResourceAttributes ? [badPath(nonResourceAttributes, 'disallowed on this kind of request')] : []),
  ];
}

function refuse(errors: FieldError[]) {
  // The API server's own answer has lost the kind on the way: its text begins with the bare group.
  if (errors.length) throw invalid({ group: AUTHORIZATION, kind: '', name: '' }, errors);
}

/** The body as a review of this kind; apiVersion and kind may be left out, unknown members are dropped. */
function read<T>(group: string, kind: string, spec: z.ZodType<T>, body: unknown) {
  const type = z.object({ apiVersion: text, kind: text }).safeParse(body);
  if (!type.success) throw badRequest(`the object provided is unrecognized (must be of type ${kind})`);
  const given = type.data.kind || kind;
  const apiVersion = type.data.apiVersion || `${group}/v1`;
  const cannotBeHandled = `${given} in version "${apiVersion.split('/').at(-1)}" cannot be handled as a ${kind}`;
  if (given !== kind || apiVersion !== `${group}/v1`) {
    throw badRequest(`${cannotBeHandled}: no kind "${given}" is registered for version "${apiVersion}"`);
  }

  const envelope = z.object({ metadata: metadataSchema.nullish(), spec: z.preprocess((value) => value ?? {}, spec) });
  const result = envelope.safeParse(body);
  if (result.success) return { metadata: result.data.metadata ?? {}, spec: result.data.spec };
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join(', ');
  throw badRequest(`${cannotBeHandled}: ${problems}`);
}

const answer = (group: string, kind: string, rest: object) => ({ kind, apiVersion: `${group}/v1`, metadata: {}, ...rest });

/** As the API server writes it: members without content are left out, at every depth; an empty object says something and stays. */
function withoutEmpty(value: object): object {
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
      if (member === undefined || member === null || member === '' || (Array.isArray(member) && member.length === 0)) return [];
      if (typeof member !== 'object' || Array.isArray(member)) return [[key, member]];
      const inner = withoutEmpty(member);
      const isEmptyMap = ['extra', 'labels', 'annotations'].includes(key) && Object.keys(inner).length === 0;
      return isEmptyMap ? [] : [[key, inner]];
    }),
  );
}
