/**
 * The access explorer: who may do something, and what a user, group or ServiceAccount may do, according to the watched roles and bindings.
 * Answers are about RBAC alone. The API server decides whose bindings and roles a caller sees.
 */
import type { Operation } from '@atrium/http/operation.ts';
import type { Services } from '../services.ts';
import type { ExplorerNeeds } from './rights.ts';
import { explorerOperations } from './routes.ts';

export const createExplorer = (services: Services, needs: ExplorerNeeds): { operations: Operation[] } => ({
  operations: services.config.features.explorer ? explorerOperations({ services, ...needs }) : [],
});
