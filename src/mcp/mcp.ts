/**
 * The door for agents at `/mcp` (Model Context Protocol): reads of the console as tools, and proposals of changes. An agent acts as the user who lent it rights, and
 * each tool calls what an operation of the service calls, with the credential of the request.
 */
import type { Operation } from '@atrium/http/operation.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { AccessService } from '../access/service.ts';
import type { AccessAsking } from '../access-requests/access-requests.ts';
import type { ListAudit } from '../activity/activity.ts';
import type { ChangeProposals } from '../change-proposals/proposals.ts';
import type { AskWhoCan } from '../explorer/explorer.ts';
import type { ListsService } from '../listed-resources/service.ts';
import type { SearchService } from '../search/search.ts';
import type { Services } from '../services.ts';
import { ToolCalls } from './calls.ts';
import { ClusterReads } from './cluster.ts';
import type { Door } from './door.ts';
import { Kinds } from './kinds.ts';
import { mcpOperations } from './routes.ts';
import type { Tool } from './tool.ts';
import { activityTool } from './tools/activity.ts';
import { describeTool } from './tools/describe.ts';
import { eventsTool } from './tools/events.ts';
import { getTool } from './tools/get.ts';
import { listTool } from './tools/list.ts';
import { logsTool } from './tools/logs.ts';
import { mayITool } from './tools/may-i.ts';
import { myAccessTool } from './tools/my-access.ts';
import { proposeChangeTool } from './tools/propose-change.ts';
import { requestAccessTool } from './tools/request-access.ts';
import { searchTool } from './tools/search.ts';
import { whoCanTool } from './tools/who-can.ts';
import { whyNotTool } from './tools/why-not.ts';

/** Services behind the operations that the tools stand for; undefined for what the installation has turned off. */
interface McpNeeds {
  lists: ListsService;
  search: SearchService;
  access: AccessService;
  whoCan: AskWhoCan | undefined;
  activity: ListAudit | undefined;
  requests: AccessAsking | undefined;
  proposals: ChangeProposals;
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

function toolsOf(services: Services, { lists, search, access, whoCan, activity, requests, proposals }: McpNeeds): Tool[] {
  const kinds = new Kinds(services);
  const reads = new ClusterReads(services);
  return [
    listTool(lists, kinds, reads),
    getTool(kinds, reads),
    describeTool(kinds, reads),
    searchTool(search),
    logsTool(reads),
    eventsTool(reads),
    mayITool(access, kinds),
    whyNotTool(access, requests, kinds),
    myAccessTool(access),
    ...(whoCan ? [whoCanTool(whoCan, kinds)] : []),
    ...(activity ? [activityTool(activity)] : []),
    ...(requests ? [requestAccessTool(requests)] : []),
    proposeChangeTool(proposals, kinds, `${services.config.server.publicURL?.replace(/\/{1,8}$/, '') ?? ''}/`),
  ];
}
