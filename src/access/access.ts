import type { Operation } from '../http/operation.ts';
import { accessOperations } from './routes.ts';
import { explainQuery, reviewQuery } from './schema.ts';
import { AccessService, type AccessServiceOptions } from './service.ts';

/** The feature: its operations. It watches nothing itself. */
export const createAccess = (options: AccessServiceOptions): { operations: Operation[] } => ({
  operations: accessOperations(new AccessService(options), options.rbac === undefined ? reviewQuery : explainQuery),
});
