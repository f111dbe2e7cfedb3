/**
 * CertificateSigningRequests: who asked, what makes one acceptable, and who may approve or sign it.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
 */

import { isDeepStrictEqual } from 'node:util';
import { duplicate, type FieldError, forbidden, invalidValue, notSupported, required } from '../../../src/api/field-error.ts';
import { StatusError } from '../../../src/api/status.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, type StoredObject, timestamp, valueAt } from './objects.ts';
import type { ResourceType, WriteRequest } from './resources.ts';
import { parseSigningRequest, subjectNames } from './signing-request.ts';

/** The signer of client certificates for the API server. */
export const clientSigner = 'kubernetes.io/kube-apiserver-client';

const leastSeconds = 600;
const conditionsField = 'status.conditions';
const decisions = ['Approved', 'Denied'];
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
    object.spec = { ...objectAt(object, 'spec'), username, ...(uid && { uid }), groups, extra };
    if (!extra) Reflect.deleteProperty(objectAt(object, 'spec'), 'extra');
    object.status = {};
    return;
  }
  object.spec = structuredClone(old.spec);
  if (subresource === undefined) return;
  const conditions = conditionsOf(object).map((condition) => stamped(condition, old, now));
  const { conditions: _given, ...status } = objectAt(subresource === 'approval' ? old : object, 'status');
  object.status = { ...status, ...(conditions.length > 0 && { conditions }) };
}

function stamped(condition: JsonObject, old: StoredObject, now: Date): JsonObject {
  const same = conditionsOf(old).find(({ type, status }) => type === condition.type && status === condition.status);
  return {
    ...condition,
    lastUpdateTime: condition.lastUpdateTime ?? timestamp(now),
    lastTransitionTime: condition.lastTransitionTime ?? same?.lastTransitionTime ?? timestamp(now),
  };
}

function validate(object: KubernetesObject, old: StoredObject | undefined, { subresource }: WriteRequest): FieldError[] {
  return [...specErrors(objectAt(object, 'spec')), ...conditionErrors(object), ...(old ? changeErrors(object, old, subresource) : [])];
}

function specErrors({ request, usages: given, signerName, expirationSeconds: seconds }: JsonObject): FieldError[] {
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
    if (list.indexOf(usage) < index) errors.push(duplicate(`spec.usages[${index}]`, usage));
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

function conditionErrors(object: KubernetesObject): FieldError[] {
  const types = conditionsOf(object).map(({ type }) => type);
  const errors = conditionsOf(object).flatMap(({ type, status }, index) => {
    const field = `${conditionsField}[${index}]`;
    return [
      ...(type ? [] : [required(`${field}.type`)]),
      ...(status ? [] : [required(`${field}.status`)]),
      ...(status && status !== 'True' ? [notSupported(`${field}.status`, status, ['True'])] : []),
      ...(types.indexOf(type) < index ? [duplicate(`${field}.type`, type)] : []),
    ];
  });
  const last = types.findLast((type) => decisions.includes(String(type)));
  const isBoth = decisions.every((type) => types.includes(type));
  return isBoth ? [...errors, invalidValue(conditionsField, last, 'Approved and Denied conditions are mutually exclusive')] : errors;
}

function changeErrors(object: KubernetesObject, old: StoredObject, subresource: string | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const find = (one: KubernetesObject, wanted: string) => conditionsOf(one).filter(({ type }) => type === wanted);
  for (const type of [...decisions, 'Failed']) {
    const [before, after] = [find(old, type), find(object, type)];
    const isMine = subresource === 'approval' || type === 'Failed';
    if (after.length < before.length) errors.push(forbidden(conditionsField, `updates may not remove a condition of type "${type}"`));
    else if (isMine) continue;
    else if (after.length > before.length) errors.push(forbidden(conditionsField, `updates may not add a condition of type "${type}"`));
    else if (!isDeepStrictEqual(after, before))
      errors.push(forbidden(conditionsField, `updates may not modify a condition of type "${type}"`));
  }
  const [had, has] = [old, object].map((one) => objectAt(one, 'status').certificate);
  if (had && had !== has) errors.push(forbidden('status.certificate', 'updates may not modify existing certificate content'));
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
  if (subresource === 'status' && isDeepStrictEqual(objectAt(old, 'status'), objectAt(object, 'status'))) return;
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
