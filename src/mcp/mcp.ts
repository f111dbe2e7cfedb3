/**
 * The door for agents at `/mcp` (Model Context Protocol): reads of the console as tools. An agent acts as the user who lent it rights, and
 * each tool calls what an operation of the service calls, with the credential of the request.
 */
import type { Operation } from '@atrium/http/operation.ts';
import type { Services } from '../services.ts';
import { mcpOperations } from './routes.ts';

export const createMcp = (services: Services): { operations: Operation[] } => ({ operations: mcpOperations(services) });
