/**
 * The door for agents at `/mcp` (Model Context Protocol): reads of the console as tools. An agent acts as the user who lent it rights, and
 * each tool calls what an operation of the service calls, with the credential of the request.
 */
import type { Operation } from '@atrium/http/operation.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { ListsService } from '../listed-resources/service.ts';
import type { Services } from '../services.ts';
import { ToolCalls } from './calls.ts';
import { ClusterReads } from './cluster.ts';
import type { Door } from './door.ts';
import { Kinds } from './kinds.ts';
import { mcpOperations } from './routes.ts';
import type { Tool } from './tool.ts';
import { getTool } from './tools/get.ts';
import { listTool } from './tools/list.ts';

interface McpNeeds {
  lists: ListsService;
}

export function createMcp(services: Services, needs: McpNeeds): { operations: Operation[] } {
  const tools = toolsOf(services, needs);
  const calls = new ToolCalls(services);
  let door: Promise<Door> | undefined;
  const open = () => {
    door ??= import('./door.ts').then(({ createDoor }) => createDoor({ tools, calls, version: packageJson.version }));
    return door;
  };
  return { operations: mcpOperations(services, open) };
}

function toolsOf(services: Services, { lists }: McpNeeds): Tool[] {
  const kinds = new Kinds(services);
  const reads = new ClusterReads(services);
  return [listTool(lists, kinds, reads), getTool(kinds, reads)];
}
