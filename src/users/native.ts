/** The Kubernetes list, watch and get of users, as kubectl expects them: between caller and API server, unchanged. */
import type { Context } from 'koa';
import { z } from 'zod';
import { userResource } from '../accounts/user-resource.ts';
import { type Bearer, type Operation, operation } from '../http/operation.ts';
import { parseFieldSelector } from '../http/selectors.ts';
import { StatusError } from '../http/status.ts';
import type { AccessReviews, ResourceAccess } from '../kubernetes/access.ts';
import type { ApiServer } from '../kubernetes/api-server.ts';
import { resourcePath } from '../kubernetes/resource.ts';
import { userName, userSchema } from './resource.ts';

export interface NativeOperationsOptions {
  apiServer: ApiServer;
  access: AccessReviews;
  /** `kubernetes.accessCache`, in milliseconds. */
  accessCacheMs: number;
}

/** An open watch asks no oftener than this, also where decisions are not kept. */
const leastPauseMs = 1_000;

export function nativeUserOperations({ apiServer, access, accessCacheMs }: NativeOperationsOptions): Operation[] {
  const forwardTo = (ctx: Context, bearer: Bearer, call: { call: string; signal: AbortSignal; name?: string; isLong?: boolean }) => {
    const { name, ...rest } = call;
    return apiServer
      .asCaller(bearer)
      .forward(ctx, { ...rest, path: resourcePath(userResource, { ...(name && { name }) }), query: ctx.querystring });
  };
  const description =
    'Query, `Accept` and answer are passed between caller and API server unchanged; all errors but those of the transport are its own.';
  return [
    operation({
      id: 'ListUsersNative',
      method: 'GET',
      paths: ['/apis/auth.platform.io/v1/users'],
      tag: 'users',
      summary: 'Lists or watches users as the API server does',
      description,
      credential: 'forwarded',
      answers: {
        200: { description: 'What the API server answers.', content: { 'application/json': z.looseObject({ kind: z.string() }) } },
        403: { description: 'The API server says no.' },
        404: { description: 'The resource is not installed.' },
        410: { description: '`continue` or `resourceVersion` is too old.' },
      },
      isLongRunning: isWatch,
      handle({ ctx, caller, signal }) {
        if (!isWatch(ctx)) return forwardTo(ctx, caller, { call: 'forward users', signal });
        const lasting = whileAllowed((asked) => access.can(caller, watchAccess(ctx), asked), accessCacheMs, signal);
        ctx.res.once('close', lasting.end);
        return forwardTo(ctx, caller, { call: 'watch users', signal: lasting.signal, isLong: true });
      },
    }),
    operation({
      id: 'GetUserNative',
      method: 'GET',
      paths: ['/apis/auth.platform.io/v1/users/:name'],
      tag: 'users',
      summary: 'Shows a user as the API server does',
      description,
      credential: 'forwarded',
      params: z.object({ name: userName }),
      answers: {
        200: { description: 'What the API server answers.', content: { 'application/json': userSchema } },
        403: { description: 'The API server says no.' },
        404: { description: 'There is no such user.' },
      },
      handle: ({ ctx, caller, params: { name }, signal }) => forwardTo(ctx, caller, { call: 'forward user', signal, name }),
    }),
  ];
}

/** As the API server reads a boolean parameter: anything but `0` and `false` is true. */
function isWatch(ctx: Context): boolean {
  const watch = ctx.URL.searchParams.get('watch');
  return watch !== null && watch !== '0' && watch.toLowerCase() !== 'false';
}

/** What the API server decides a watch by: of a single user, if the field selector names one. */
function watchAccess(ctx: Context): ResourceAccess {
  const requirements = parseFieldSelector(ctx.URL.searchParams.get('fieldSelector') ?? '');
  const name = requirements.find(({ field, operator }) => field === 'metadata.name' && operator === '=')?.value;
  return { ...userResource, verb: 'watch', ...(name && { name }) };
}

/**
 * A signal that aborts with the given one, and as soon as the caller is no longer allowed: the API server itself decides on a watch
 * only when it begins. An API server that cannot be asked does not end it.
 */
function whileAllowed(
  ask: (signal: AbortSignal) => Promise<boolean>,
  pauseMs: number,
  signal: AbortSignal,
): { signal: AbortSignal; end(): void } {
  const lost = new AbortController();
  const both = AbortSignal.any([signal, lost.signal]);
  const check = async () => {
    const isAllowed = await ask(both).catch((error: unknown) => !(error instanceof StatusError && error.status.code === 401));
    if (!isAllowed) lost.abort(new Error('the right to watch was taken away'));
  };
  // Twice in the time for which a decision may count: a watch must not show more, for longer, than a list would.
  const timer = setInterval(() => void check(), Math.max(pauseMs / 2, leastPauseMs));
  const end = () => clearInterval(timer);
  both.addEventListener('abort', end, { once: true });
  return { signal: both, end };
}
