import { hash } from 'node:crypto';

/** Pattern of `spec.email` in the custom resource definition: ASCII with at most one `@`, which excludes look-alikes and paths. */
const loginString = /^[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+(@[A-Za-z0-9.-]+)?$/;

/** Returns a hash for the name of a record, or for a text that is no label value. */
export const shortHash = (text: string): string => hash('sha256', text).slice(0, 32);

/**
 * Returns the name of the User record of an e-mail address or plain login string: the first 32 hex digits of the SHA-256 of its lower-cased
 * form. The name is a key and no proof. Code that looks up a record by name compares the whole email.
 *
 * @returns undefined if no record can have the email
 */
export const recordName = (login: string): string | undefined =>
  login.length <= 253 && loginString.test(login) ? shortHash(login.toLowerCase()) : undefined;
