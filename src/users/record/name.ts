import { hash } from 'node:crypto';

/** The pattern of `spec.email` in the custom resource definition: ASCII and one `@` at most, so no look-alike and no path. */
const loginString = /^[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+(@[A-Za-z0-9.-]+)?$/;

/** Of a record's name, and of what stands for a text that is no label value. */
export const shortHash = (text: string): string => hash('sha256', text).slice(0, 32);

/**
 * The name of the User record of an e-mail address or plain login string: the first 32 hex digits of the SHA-256 of its lower-cased
 * form. A key, not a proof: code that finds a record by it compares the whole email.
 *
 * @returns undefined for what no record can have as its email
 */
export const recordName = (login: string): string | undefined =>
  login.length <= 253 && loginString.test(login) ? shortHash(login.toLowerCase()) : undefined;
