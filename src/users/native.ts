/** The Kubernetes list, watch and get of users, as kubectl expects them. Requests and answers are passed through unchanged. */
import type { Bearer } from '@atrium/http/caller.ts';
import { shownAsBoolean, shownAsInteger } from '@atrium/http/input.ts';
import { compressed, longRunning, type Operation, operation } from '@atrium/http/operation.ts';
import { cutWhenStuck } from '@atrium/http/slow-clients.ts';
import type { ResourceAccess } from '@atrium/kubernetes/access.ts';
import { CallerResource } from '@atrium/kubernetes/resource-client.ts';
import { checkPassedSelectors, fieldRequirements } from '@atrium/lists/query.ts';
import { rightCheck, type WhileAllowedOptions, whileAllowed } from '@atrium/lists/while-allowed.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { userKind, userName, userResource, userSchema } from './record/schema.ts';

/** Timeout after which a client that does not read the pending data is disconnected. */
const stuckMs = 50_000;

/** Query parameters of a list in the API server, passed on unchanged. */
const nativeQuery = z.object({
  labelSelector: z.string().optional().describe('Kubernetes label selector.'),
  fieldSelector: z.string().optional().describe('Kubernetes field selector.'),
  limit: z.string().meta(shownAsInteger).optional().describe('Maximum number of items.'),
  continue: z.string().optional().describe('`metadata.continue` of the previous page.'),
  resourceVersion: z.string().optional().describe('Requested resource version, as Kubernetes defines it.'),
  resourceVersionMatch: z.string().optional().describe('Match of `resourceVersion`: `Exact` or `NotOlderThan`.'),
  timeoutSeconds: z.string().meta(shownAsInteger).optional().describe('Duration of a list or watch in seconds.'),
  watch: z.string().meta(shownAsBoolean).optional().describe('`true`: a stream of changes instead of a list.'),
  allowWatchBookmarks: z.string().meta(shownAsBoolean).optional().describe('Lets a watch send bookmarks.'),
  sendInitialEvents: z.string().meta(shownAsBoolean).optional().describe('Begins a watch with the present objects.'),
});

/** Answer without `watch`, unless `Accept` requests another form. */
const nativeList = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('UserList'),
    metadata: z.object({
      resourceVersion: z.string(),
      continue: z.string().optional(),
      remainingItemCount: z.int().optional(),
    }),
    items: z.array(userSchema),
  })
  .meta({
    id: 'NativeUserList',
    examples: [
      { apiVersion: 'auth.platform.io/v1', kind: 'UserList', metadata: { resourceVersion: '51877' }, items: userSchema.meta()?.examples },
    ],
  });

export function nativeUserOperations({ apiServer, access }: Services, guard: WhileAllowedOptions): Operation[] {
  const asCaller = (bearer: Bearer) => new CallerResource(apiServer.asCaller(bearer), userKind);
  const description =
    'Passes query, `Accept` and answer between caller and API server unchanged. Errors are those of the API server, except for transport errors.';
  return [
    operation({
      id: 'ListUsersNative',
      method: 'GET',
      paths: ['/apis/auth.platform.io/v1/users'],
      ignoredQuery: 'all',
      tag: 'users',
      summary: 'Lists or watches users as the API server does',
      description,
      credential: 'forwarded',
      before: [compressed, longRunning(isWatch)],
      described: { query: nativeQuery },
      viewAs: (ctx) => ({ ...watchAccess(ctx), verb: isWatch(ctx) ? 'watch' : 'list' }),
      answers: {
        200: { description: 'The answer of the API server.', content: { 'application/json': nativeList } },
        400: { description: 'A selector is too long, or the API server refuses a parameter.' },
        403: { description: 'RBAC denies it.' },
        404: { description: 'The resource is not installed.' },
        410: { description: '`continue` or `resourceVersion` is too old.' },
        422: { description: 'The API server does not accept these parameters together.' },
      },
      handle({ ctx, caller, signal }) {
        checkPassedSelectors(ctx.URL.searchParams);
        if (!isWatch(ctx)) return asCaller(caller).forward(ctx, { call: 'forward users', signal });
        const lasting = whileAllowed(ctx, { check: rightCheck(access, watchAccess(ctx), caller.user ?? ''), signal }, guard);
        const reader = cutWhenStuck(ctx.req.socket, { stuckMs, over: lasting.signal });
        ctx.state.lifetime.onClose(() => {
          lasting.end();
          reader.end();
        });
        return asCaller(caller).forward(ctx, { call: 'watch users', signal: lasting.signal, isLong: true });
      },
    }),
    operation({
      id: 'GetUserNative',
      method: 'GET',
      paths: ['/apis/auth.platform.io/v1/users/:name'],
      ignoredQuery: 'all',
      tag: 'users',
      summary: 'Shows a user as the API server does',
      description,
      credential: 'forwarded',
      params: z.object({ name: userName }),
      viewAs: (_ctx, { name = '' }) => ({ ...userResource, verb: 'get', name }),
      answers: {
        200: { description: 'The answer of the API server.', content: { 'application/json': userSchema } },
        403: { description: 'RBAC denies it.' },
        404: { description: 'The user does not exist.' },
      },
      handle: ({ ctx, caller, params: { name }, signal }) => asCaller(caller).forward(ctx, { call: 'forward user', signal, name }),
    }),
  ];
}

/** Parses `watch` like the API server: any value other than `0` and `false` is true. */
function isWatch(ctx: Context): boolean {
  const watch = ctx.URL.searchParams.get('watch');
  return watch !== null && watch !== '0' && watch.toLowerCase() !== 'false';
}

/** Returns the access that the API server checks for a watch, limited to a single user if the field selector names one. */
function watchAccess(ctx: Context): ResourceAccess {
  const requirements = fieldRequirements(ctx.URL.searchParams.get('fieldSelector') ?? '');
  const name = requirements.find(({ field, operator }) => field === 'metadata.name' && operator === '=')?.value;
  return { ...userResource, verb: 'watch', ...(name && { name }) };
}
