import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { badParameter, timedOut } from '../api/status.ts';
import { ChangeLog } from '../collection/change-log.ts';
import { freshnessTimeoutMs, type Lister } from '../collection/lister.ts';
import { liveList } from '../collection/live-list.ts';
import { parseQuery } from '../collection/query.ts';
import type { ListParameters } from '../collection/schema.ts';
import type { Caller } from '../http/operation.ts';
import { cutWhenStuck } from '../http/stuck-reader.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { userProperties } from './list-properties.ts';
import { userApiVersion, userResource } from './record/resource.ts';
import type { UserRow } from './row.ts';
import { type WhileAllowedOptions, whileAllowed } from './while-allowed.ts';

const eventStream = 'text/event-stream';
const maxSeconds = 1_800;
/** A client that reads nothing for so long is gone: comments alone come oftener. */
const stuckMs = 60_000;
/** An answer is made as it is read; so much of it waits for the socket. */
const highWaterMark = 16 * 1024;

export interface LiveUsersOptions extends WhileAllowedOptions {
  users: WatchCache<UserRow>;
  lister: Lister<UserRow>;
}

export interface LiveParameters extends ListParameters {
  timeoutSeconds: number | undefined;
}

/** Whether a request asks for a live list. A HEAD is answered as of an ordinary one. */
export const isLive = (ctx: Context): boolean => {
  const watch = ctx.URL.searchParams.get('watch');
  return ctx.method === 'GET' && watch !== null && watch !== '0' && watch.toLowerCase() !== 'false';
};

/** Users as server-sent events (docs/contract/users.md), each caller's until the right or the credential is gone. */
export class LiveUsers {
  readonly #options: LiveUsersOptions;
  readonly #changes: ChangeLog<UserRow>;

  constructor(options: LiveUsersOptions) {
    this.#options = options;
    this.#changes = new ChangeLog(options.users);
  }

  /** @throws StatusError 400, 403, 503, 504 before anything is answered */
  async answer(ctx: Context, parameters: LiveParameters, caller: Caller, signal: AbortSignal): Promise<void> {
    const { users, lister, access } = this.#options;
    const right = { ...userResource, verb: 'watch' };
    if (!accepts(ctx))
      throw badParameter('watch', `needs the header Accept: ${eventStream}; other watches are at /apis/auth.platform.io/v1/users`);
    for (const name of ['continue', 'page'] as const)
      if (parameters[name]) throw badParameter(name, 'cannot be used together with watch', 'FieldValueForbidden');
    await access.require(caller, right, signal);
    await lister.whenUsable(signal);
    const { fits } = parseQuery(userProperties, parameters);
    const after = startOf(ctx, parameters);
    if (after !== undefined && !(await users.waitFor(after, freshnessTimeoutMs, signal))) throw timedOut('kubernetes');

    const lasting = whileAllowed(ctx, { access: right, user: caller.identity.name, signal }, this.#options);
    const seconds = Math.min(parameters.timeoutSeconds ?? maxSeconds, maxSeconds);
    const closed = new AbortController();
    const over = AbortSignal.any([lasting.signal, closed.signal, AbortSignal.timeout(seconds * 1000)]);
    const text = liveList({ cache: users, changes: this.#changes, apiVersion: userApiVersion, kind: 'User', fits, after, signal: over });
    const stream = Readable.from(text, { objectMode: false, highWaterMark });
    const watchdog = cutWhenStuck(ctx.req.socket, { stuckMs, over });
    ctx.res.once('close', () => {
      lasting.end();
      watchdog.end();
      closed.abort();
    });
    // Proxies of the nginx kind gather answers unless told not to.
    ctx.set({ 'Content-Type': eventStream, 'X-Accel-Buffering': 'no' });
    ctx.body = stream;
    ctx.flushHeaders();
  }
}

/** Media types may be followed by parameters, and others may be named too. */
const accepts = (ctx: Context): boolean =>
  ctx
    .get('Accept')
    .split(',')
    .some((range) => range.split(';')[0]?.trim().toLowerCase() === eventStream);

/** Where to go on: what an EventSource says when it comes back wins over what its address says. */
function startOf(ctx: Context, { resourceVersion }: LiveParameters): string | undefined {
  const lastEventID = ctx.get('Last-Event-ID');
  if (lastEventID !== '' && !/^(0|[1-9][0-9]{0,19})$/.test(lastEventID)) throw badParameter('Last-Event-ID', 'must be the id of an event');
  const version = lastEventID || resourceVersion;
  return version === '' || version === '0' ? undefined : version;
}
