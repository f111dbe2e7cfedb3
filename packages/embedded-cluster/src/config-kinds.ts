/** ConfigMap and Secret: what they hold, by key. */
import { isDeepStrictEqual } from 'node:util';
import { type FieldError, forbidden, invalidValue, tooLong } from '@atrium/objects/field-error.ts';
import { badRequest } from '@atrium/objects/status.ts';
import { isJsonObject, type KubernetesObject, type StoredObject } from './objects.ts';

const maximumBytes = 1024 * 1024;

export function prepareConfigMap(object: KubernetesObject): void {
  refuseBadBase64(object, 'binaryData');
}

export function prepareSecret(object: KubernetesObject): void {
  if (isJsonObject(object.stringData)) {
    const encoded = Object.entries(object.stringData).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')]);
    object.data = { ...(isJsonObject(object.data) && object.data), ...Object.fromEntries(encoded) };
  }
  delete object.stringData;
  refuseBadBase64(object, 'data');
}

/** Bytes that do not decode are an error of the body, not of the object. */
function refuseBadBase64(object: KubernetesObject, field: string): void {
  for (const value of Object.values(isJsonObject(object[field]) ? object[field] : {})) {
    if (
      typeof value !== 'string' ||
      /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value.replaceAll(/[\r\n]/g, ''))
    )
      continue;
    const at = Math.max(value.search(/[^A-Za-z0-9+/]/), 0) || value.length - (value.length % 4);
    throw badRequest(`${object.kind} in version "v1" cannot be handled as a ${object.kind}: illegal base64 data at input byte ${at}`);
  }
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
  return errors;
}

function keyErrors(field: string, data: unknown): FieldError[] {
  return Object.keys(isJsonObject(data) ? data : {}).flatMap((key) => {
    const problems: string[] = [];
    if (key.length > 253) problems.push('must be no more than 253 characters');
    if (!/^[-._a-zA-Z0-9]+$/.test(key)) {
      problems.push(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      );
    }
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
