/** The Kubernetes list, watch and get of users, as kubectl expects them. Requests and answers are passed through unchanged. */
import type { Context } from 'koa';
import { z } from 'zod';
import { checkPassedSelectors, fieldRequirements } from '../collection/selection.ts';
import { rightCheck, type WhileAllowedOptions, whileAllowed } from '../collection/while-allowed.ts';
import { shownAsBoolean, shownAsInteger } from '../http/input.ts';
import { type Bearer, type Operation, operation } from '../http/operation.ts';
import { compressed, longRunning } from '../http/preparations.ts';
import { cutWhenStuck } from '../http/unread-answers.ts';
import type { ResourceAccess } from '../kubernetes/access.ts';
import { CallerResource } from '../kubernetes/resource-client.ts';
import type { Services } from '../services.ts';
import { userKind, userName, userResource, userSchema } from './record/schema.ts';

/** Timeout after which a client that does not read the pending data is disconnected. */
const stuckMs = 50_000;

/** Query parameters of a list in the API server, passed on unchanged. */
const nativeQuery = z.object({
  labelSelector: z.string().optional().describe('Kubernetes label selector.'),
  fieldSelector: z.string().optional().describe('Kubernetes field selector.'),
  limit: z.string().meta(shownAsInteger).optional().describe('How many at most.'),
  continue: z.string().optional().describe('Where to go on, as the answer before said.'),
  resourceVersion: z.string().optional().describe('Which state is asked for, as Kubernetes defines it.'),
  resourceVersionMatch: z.string().optional().describe('How `resourceVersion` is meant: `Exact` or `NotOlderThan`.'),
  timeoutSeconds: z.string().meta(shownAsInteger).optional().describe('When a list or watch ends.'),
  watch: z.string().meta(shownAsBoolean).optional().describe('True for a stream of changes instead of a list.'),
  allowWatchBookmarks: z.string().meta(shownAsBoolean).optional().describe('Whether a watch may send bookmarks.'),
  sendInitialEvents: z.string().meta(shownAsBoolean).optional().describe('Whether a watch begins with what is there.'),
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
    'Query, `Accept` and answer are passed between caller and API server unchanged; all errors but those of the transport are its own.';
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
        200: { description: 'What the API server answers.', content: { 'application/json': nativeList } },
        400: { description: 'A selector that is too long, or parameters that the API server refuses.' },
        403: { description: 'The API server says no.' },
        404: { description: 'The resource is not installed.' },
        410: { description: '`continue` or `resourceVersion` is too old.' },
        422: { description: 'Parameters that the API server does not take together.' },
      },
      handle({ ctx, caller, signal }) {
        checkPassedSelectors(ctx.URL.searchParams);
        if (!isWatch(ctx)) return asCaller(caller).forward(ctx, { call: 'forward users', signal });
        const lasting = whileAllowed(ctx, { check: rightCheck(access, watchAccess(ctx), caller.user ?? ''), signal }, guard);
        const reader = cutWhenStuck(ctx.req.socket, { stuckMs, over: lasting.signal });
        ctx.res.once('close', () => {
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
        200: { description: 'What the API server answers.', content: { 'application/json': userSchema } },
        403: { description: 'The API server says no.' },
        404: { description: 'There is no such user.' },
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
