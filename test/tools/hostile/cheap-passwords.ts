/**
 * To be imported before the service: hashes that cost nothing, as a run sets thousands of passwords. What they cost is tested in
 * `test/service/users/passwords.test.ts`.
 */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const { argon2 } = crypto;
const cheap: typeof argon2 = (algorithm, parameters, callback) =>
  argon2(algorithm, { ...parameters, memory: 8 * parameters.parallelism, passes: 1 }, callback);
crypto.argon2 = cheap;
syncBuiltinESMExports();
