import { hash } from 'node:crypto';

/** Returns the name of the User record of an e-mail address (docs/contract/users.md). */
export const recordName = (email: string): string => hash('sha256', email.toLowerCase()).slice(0, 32);
