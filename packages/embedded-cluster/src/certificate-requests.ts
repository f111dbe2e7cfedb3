/**
 * CertificateSigningRequests: who asked, what makes one acceptable, and who may approve or sign it.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
 */
import { type FieldError, invalidValue, notSupported, required } from '@atrium/objects/field-error.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, type StoredObject, timestamp, valueAt } from './objects.ts';
import type { ResourceType, WriteRequest } from './resources.ts';
import { parseSigningRequest, subjectNames } from './signing-request.ts';

/** The signer of client certificates for the API server. */
export const clientSigner = 'kubernetes.io/kube-apiserver-client';

const leastSeconds = 600;
const usages = [
  ...['any', 'cert sign', 'client auth', 'code signing', 'content commitment', 'crl sign', 'data encipherment', 'decipher only'],
  ...['digital signature', 'email protection', 'encipher only', 'ipsec end system', 'ipsec tunnel', 'ipsec user', 'key agreement'],
  ...['key encipherment', 'microsoft sgc', 'netscape sgc', 'ocsp signing', 's/mime', 'server auth', 'signing', 'timestamping'],
];

export const certificateRequestRules: Pick<ResourceType, 'prepare' | 'validate' | 'admit'> = { prepare, validate, admit };

const objectAt = (object: KubernetesObject | undefined, field: 'spec' | 'status'): JsonObject => {
  const value = object?.[field];
  return isJsonObject(value) ? value : {};
};

export const conditionsOf = (object: KubernetesObject | undefined): JsonObject[] => {
  const { conditions } = objectAt(object, 'status');
  return Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
};

function prepare(object: KubernetesObject, old: StoredObject | undefined, { user, subresource, now }: WriteRequest): void {
  if (!old) {
    const { username, uid, groups, extra } = user;
    const { extra: _extra, ...spec } = objectAt(object, 'spec');
    object.spec = { ...spec, username, ...(uid && { uid }), groups, ...(extra && { extra }) };
    object.status = {};
    return;
  }
  object.spec = structuredClone(old.spec);
  if (subresource !== 'approval') return;
  const time = timestamp(now);
  const conditions = conditionsOf(object).map((condition) => ({ lastUpdateTime: time, lastTransitionTime: time, ...condition }));
  object.status = { ...objectAt(old, 'status'), conditions };
}

function validate(object: KubernetesObject): FieldError[] {
  const { request, usages: given, signerName, expirationSeconds: seconds } = objectAt(object, 'spec');
  const errors: FieldError[] = [];
  try {
    parseSigningRequest(request);
  } catch (error) {
    errors.push(invalidValue('spec.request', request ?? '', error instanceof Error ? error.message : ''));
  }
  const list = Array.isArray(given) ? given : [];
  if (list.length === 0) errors.push(required('spec.usages'));
  for (const [index, usage] of list.entries()) {
    if (!usages.includes(usage)) errors.push(notSupported(`spec.usages[${index}]`, usage, usages));
  }
  if (!signerName) errors.push(required('spec.signerName'));
  else if (!/^[a-z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(String(signerName)))
    errors.push(
      invalidValue('spec.signerName', signerName, 'must be a fully qualified domain and path of the form "<domain>/<signer-name>"'),
    );
  if (typeof seconds === 'number' && seconds < leastSeconds)
    errors.push(invalidValue('spec.expirationSeconds', seconds, 'may not specify a duration less than 600 seconds (10 minutes)'));
  return errors;
}

/** @throws StatusError 403 */
function admit(object: StoredObject, old: StoredObject | undefined, { subresource, may }: WriteRequest): void {
  const { signerName, request } = objectAt(old ?? object, 'spec');
  if (subresource === undefined) {
    if (signerName === clientSigner && subjectNames(parseSigningRequest(request).subjectName).organizations.includes('system:masters'))
      throw refused(object, `use of ${clientSigner} signer with system:masters group is not allowed`);
    return;
  }
  const verb = subresource === 'approval' ? 'approve' : 'sign';
  const name = String(signerName);
  const names = [name, name.replace(/\/.*/, '/*')];
  if (names.some((one) => may({ verb, group: 'certificates.k8s.io', version: '*', resource: 'signers', name: one }))) return;
  throw refused(object, `user not permitted to ${verb} requests with signerName ${JSON.stringify(name)}`);
}

const refused = ({ metadata: { name } }: StoredObject, why: string) =>
  new StatusError(403, 'Forbidden', `certificatesigningrequests.certificates.k8s.io "${name}" is forbidden: ${why}`, {
    details: { name, group: 'certificates.k8s.io', kind: 'certificatesigningrequests' },
  });

/** `Approved`, `Denied`, `Pending`, with what became of it, as `kubectl get` shows it. */
export function certificateRequestState(object: KubernetesObject): string {
  const has = (wanted: string) => conditionsOf(object).some(({ type }) => type === wanted);
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  return [decision, ...(has('Failed') ? ['Failed'] : []), ...(valueAt(object, ['status', 'certificate']) ? ['Issued'] : [])].join(',');
}
