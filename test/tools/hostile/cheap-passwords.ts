/**
 * Makes password hashes cheap, because a run sets thousands of passwords. Import this module before the service.
 * `test/service/users/passwords.test.ts` tests the real cost.
 */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const { argon2 } = crypto;
const cheap: typeof argon2 = (algorithm, parameters, callback) =>
  argon2(algorithm, { ...parameters, memory: 8 * parameters.parallelism, passes: 1 }, callback);
crypto.argon2 = cheap;
syncBuiltinESMExports();
