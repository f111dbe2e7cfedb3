import { hash } from 'node:crypto';

/** Returns the name of the User record of an e-mail address (docs/contract/users.md). */
export const recordName = (email: string): string => hash('sha256', email.toLowerCase()).slice(0, 32);

/** Returns the name of a User record, by its name or its e-mail address. */
export const recordNamed = (user: string): string => (/^[0-9a-f]{32}$/.test(user) ? user : recordName(user));
