/**
 * A part of the name that is a hash: 8 or more hex digits, at least one of them a number, between a dot or hyphen and the extension.
 * Eight digits that read as a date are none: taking a report for a build would pin it in browsers for a year.
 */
const hashedName = /[.-](?!(?:19|20)\d{6}\.)(?=[a-f]*\d)[0-9a-f]{8,64}(?:\.[a-z][a-z0-9]*)+$/i;

/** Whether a file name says by a hash in it that its contents never change. */
export const isHashedName = (name: string): boolean => hashedName.test(name);

/** For what a URL stands for once and for all. */
export const immutable = 'public, max-age=31536000, immutable';
