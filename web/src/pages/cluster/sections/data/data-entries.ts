/** Entries of a ConfigMap or a Secret. Kubernetes API: core/v1. */

import type { ClusterObject } from '../../../../api/object-types.ts';

export interface DataEntry {
  key: string;
  bytes: Uint8Array<ArrayBuffer>;
  /** Unset for binary data. */
  text: string | undefined;
}

/** Returns the entries of an object by key; a Secret has all its values in Base64, a ConfigMap only `binaryData`. */
export function dataEntries({ kind, data, binaryData }: ClusterObject): DataEntry[] {
  const decode = kind === 'Secret' ? bytesOf : (text: string) => new TextEncoder().encode(text);
  return [...entriesIn(data, decode), ...entriesIn(binaryData, bytesOf)].sort((a, b) => (a.key < b.key ? -1 : 1));
}

function entriesIn(data: unknown, decode: (text: string) => Uint8Array<ArrayBuffer>): DataEntry[] {
  return Object.entries((data ?? {}) as Record<string, string>).map(([key, value]) => {
    const bytes = decode(value);
    return { key, bytes, text: textOf(bytes) };
  });
}

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** Returns the text that a Secret holds in Base64; undefined for binary data and invalid Base64. */
export function secretText(base64: string): string | undefined {
  try {
    return textOf(bytesOf(base64));
  } catch {
    return undefined;
  }
}

function textOf(bytes: Uint8Array<ArrayBuffer>): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters mark binary data
    return /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}
