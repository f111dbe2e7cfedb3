/** ConfigMap and Secret: what they hold, by key. */
import { isDeepStrictEqual } from 'node:util';
import { type FieldError, forbidden, invalidValue, required, tooLong } from '@atrium/objects/field-error.ts';
import { formats } from './kind-formats.ts';
import { isJsonObject, type KubernetesObject, type StoredObject } from './objects.ts';

const maximumBytes = 1024 * 1024;

export function prepareSecret(object: KubernetesObject): void {
  if (isJsonObject(object.stringData)) {
    const encoded = Object.entries(object.stringData).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')]);
    object.data = { ...(isJsonObject(object.data) && object.data), ...Object.fromEntries(encoded) };
  }
  delete object.stringData;
}

export function validateConfigMap(object: KubernetesObject, old?: StoredObject): FieldError[] {
  const { data, binaryData } = object;
  const duplicates = Object.keys(isJsonObject(data) ? data : {})
    .filter((key) => isJsonObject(binaryData) && Object.hasOwn(binaryData, key))
    .map((key) => invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData'));
  return [
    ...keyErrors('data', data),
    ...keyErrors('binaryData', binaryData),
    ...duplicates,
    ...sizeErrors(data, binaryData),
    ...frozen(object, old),
  ];
}

export function validateSecret(object: KubernetesObject, old?: StoredObject): FieldError[] {
  const errors = [...keyErrors('data', object.data), ...sizeErrors(object.data), ...frozen(object, old)];
  if (old && old.type !== object.type) errors.push(invalidValue('type', object.type, 'field is immutable'));
  return [...errors, ...missingKeys(object)];
}

/** Keys that Secrets of a type hold; of some types, one of them. */
const keysOfTypes: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/basic-auth': ['username', 'password'],
};

function missingKeys({ type, data }: KubernetesObject): FieldError[] {
  const missing = (keysOfTypes[String(type)] ?? []).filter((key) => !isJsonObject(data) || !Object.hasOwn(data, key));
  return missing.length === 1 && type === 'kubernetes.io/basic-auth' ? [] : missing.map((key) => required(`data[${key}]`));
}

function keyErrors(field: string, data: unknown): FieldError[] {
  return Object.keys(isJsonObject(data) ? data : {}).flatMap((key) => {
    const problems = formats.configKey?.(key) ?? [];
    if (key.length > 253) problems.push('must be no more than 253 characters');
    if (key === '.' || key === '..') problems.push(`must not be '${key}'`);
    return problems.map((problem) => invalidValue(`${field}[${key}]`, key, problem));
  });
}

function sizeErrors(...data: unknown[]): FieldError[] {
  const values = data.flatMap((part) => Object.values(isJsonObject(part) ? part : {}));
  const bytes = values.reduce<number>((sum, value) => sum + Buffer.byteLength(String(value)), 0);
  return bytes > maximumBytes ? [tooLong(data.length > 1 ? '' : 'data', maximumBytes)] : [];
}

function frozen(object: KubernetesObject, old?: StoredObject): FieldError[] {
  if (old?.immutable !== true) return [];
  const errors = ['data', 'binaryData']
    .filter((field) => !isDeepStrictEqual(object[field] ?? {}, old[field] ?? {}))
    .map((field) => forbidden(field, 'field is immutable when `immutable` is set'));
  if (object.immutable !== true) errors.unshift(forbidden('immutable', 'field is immutable when `immutable` is set'));
  return errors;
}
