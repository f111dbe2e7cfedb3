/**
 * Access reviews, which pass the question and the caller's own identity to the API server, and return its answer. The service decides
 * nothing, and callers cannot ask about other users. Every authenticated caller may ask, unless the cluster forbids it.
 */
import type { Operation } from '@atrium/http/operation.ts';
import type { Services } from '../services.ts';
import { accessOperations } from './routes.ts';
import { AccessService } from './service.ts';

export function createAccess(services: Services): { operations: Operation[]; service: AccessService } {
  const service = new AccessService(services);
  return { operations: accessOperations(services, service), service };
}
