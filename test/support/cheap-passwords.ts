import { Passwords } from '../../src/users/passwords/passwords.ts';

/**
 * Minimum of argon2id: tests set and verify thousands of passwords. `passwords.test.ts` and `create.test.ts` have the cost of production.
 */
export const cheapCost = { memoryKiB: 8, passes: 1, parallelism: 1 };

export const cheapPasswords = (): Passwords => new Passwords(undefined, cheapCost);
