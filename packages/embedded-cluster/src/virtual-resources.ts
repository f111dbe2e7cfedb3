/** Resources that are asked and not stored: reviews and token requests. */
import { invalidValue } from '@atrium/objects/field-error.ts';
import { invalid, notImplemented } from '@atrium/objects/status.ts';
import { getObject } from './backend.ts';
import { requiredObject, sendJson } from './exchange.ts';
import { timestamp, valueAt } from './objects.ts';
import type { Backend, SubresourceAnswer } from './resources.ts';
import { type AccessReviewResource, createReview, createSelfSubjectReview, createTokenReview } from './reviews.ts';
import type { UserInfo } from './tokens.ts';

/** All are of version 1, and of the cluster by default. */
export interface VirtualResource {
  group: string;
  resource: string;
  kind: string;
  isNamespaced?: boolean;
  create(request: { backend: Backend; user: UserInfo; namespace: string | undefined }, body: unknown): object | Promise<object>;
}

const authorizationReview = (resource: AccessReviewResource, kind: string): VirtualResource => ({
  ...{ group: 'authorization.k8s.io', resource, kind },
  create: ({ backend: { rbac }, user, namespace }, body) => createReview(resource, { rbac, user, namespace }, body),
});

export const virtualResources: readonly VirtualResource[] = [
  {
    ...{ group: 'authentication.k8s.io', resource: 'selfsubjectreviews', kind: 'SelfSubjectReview' },
    create: ({ user }, body) => createSelfSubjectReview(user, body),
  },
  {
    ...{ group: 'authentication.k8s.io', resource: 'tokenreviews', kind: 'TokenReview' },
    create: ({ backend }, body) => createTokenReview(backend.authenticator, body),
  },
  authorizationReview('selfsubjectaccessreviews', 'SelfSubjectAccessReview'),
  authorizationReview('selfsubjectrulesreviews', 'SelfSubjectRulesReview'),
  authorizationReview('subjectaccessreviews', 'SubjectAccessReview'),
  { ...authorizationReview('localsubjectaccessreviews', 'LocalSubjectAccessReview'), isNamespaced: true },
];

const minimumTokenSeconds = 600;
const defaultTokenSeconds = 3600;

/** `serviceaccounts/token`. */
export const serviceAccountToken: SubresourceAnswer = {
  ...{ kind: 'TokenRequest', group: 'authentication.k8s.io', version: 'v1', verbs: ['create'] },
  async answer(exchange, { namespace = '', name }) {
    const body = await requiredObject(exchange, 'TokenRequest');
    sendJson(exchange, 201, await createServiceAccountToken(exchange.backend, { namespace, name }, body));
  },
};

/** @throws StatusError 404, 422 or 501 */
async function createServiceAccountToken(backend: Backend, target: { namespace: string; name: string }, body: unknown): Promise<object> {
  const { namespace, name } = target;
  const type = backend.registry.get({ group: '', resource: 'serviceaccounts' });
  if (!type) throw notImplemented('service accounts');
  const account = getObject(backend, { type, ...target });
  if (valueAt(body, ['spec', 'boundObjectRef'])) throw notImplemented('tokens bound to an object');
  const seconds = valueAt(body, ['spec', 'expirationSeconds']) ?? defaultTokenSeconds;
  if (typeof seconds !== 'number' || seconds < minimumTokenSeconds) {
    throw invalid({ group: 'authentication.k8s.io', kind: 'TokenRequest', name: '' }, [
      invalidValue('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes'),
    ]);
  }
  const wanted = valueAt(body, ['spec', 'audiences']);
  const audiences = Array.isArray(wanted) && wanted.length > 0 ? wanted.map(String) : undefined;
  const user = {
    username: `system:serviceaccount:${namespace}:${name}`,
    uid: account.metadata.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
  };
  const status = await backend.tokens.issue({ user, expiresInSeconds: seconds, ...(audiences && { audiences }) });
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, creationTimestamp: timestamp(backend.now()) },
    spec: { audiences: audiences ?? ['https://kubernetes.default.svc'], expirationSeconds: seconds, boundObjectRef: null },
    status,
  };
}
