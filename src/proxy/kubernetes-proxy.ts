import type { Readable } from 'node:stream';
import type { Authenticator } from '@atrium/http/authenticator.ts';
import { hasBody } from '@atrium/http/body.ts';
import { actorOf, type Caller, callerKey, type ViewedAccess, type Viewing } from '@atrium/http/caller.ts';
import { ConcurrencyLimit } from '@atrium/http/limits/concurrency-limit.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { receivedCode } from '@atrium/http/middleware/request-state.ts';
import type { Preparation } from '@atrium/http/operation.ts';
import { cutWhenStuck, requestBody } from '@atrium/http/slow-clients.ts';
import { relay } from '@atrium/http/tunnel.ts';
import { type Upgrade, upgradeOf } from '@atrium/http/upgrade.ts';
import { type Lasting, whilePermitted } from '@atrium/http/while-permitted.ts';
import type { PassedAnswer } from '@atrium/kubernetes/caller-passage.ts';
import { gathered, isJson, withErrorEvent } from '@atrium/kubernetes/forward.ts';
import { connectionOf } from '@atrium/kubernetes/opened-connection.ts';
import type { PassedCall } from '@atrium/kubernetes/passage.ts';
import { accessOf, compactSearch, isTrue, requestedAccess, type Target, targetOf } from '@atrium/kubernetes/request-target.ts';
import { forbidden, StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { auditCaller, auditView } from '../audit/audit.ts';
import type { Recorders } from '../recordings/recorders.ts';
import type { Services } from '../services.ts';
import { answerWith, switchedHeaders } from './answer.ts';
import { type ActiveRequests, Recording } from './recording.ts';
import { checkRequest, isRead, withoutTokenSecret } from './rules.ts';

/** Bound of the API server. */
export const maxBodyBytes = 3 * 1024 * 1024;
/** Bound of Secret bodies of a caller, each of which is buffered in memory. */
const maxHeldSecretsOfCaller = 8;
/** Milliseconds after which a reader that takes no bytes is disconnected. */
const stuckMs = 60_000;
/** Least interval of the checks of a view. */
const leastCheckMs = 1_000;

export interface ProxyNeeds {
  recorders: Recorders;
  /** Requests that give access now. Undefined without access requests. */
  activeRequests: ActiveRequests | undefined;
}

/**
 * Passes requests on to the API server with the caller's identity (docs/contract/kubernetes.md). Bytes are neither parsed nor stored,
 * except for the body of a Secret that may be refused.
 */
export class KubernetesProxy {
  readonly #services: Services;
  readonly #authenticator: Authenticator;
  readonly #recorders: Recorders;
  readonly #activeRequests: ActiveRequests | undefined;
  /** Prefix of the service before the path of the API server. */
  readonly #own: string;
  readonly #targets = new WeakMap<Context, Target>();
  readonly #heldSecrets = new ConcurrencyLimit({ maxEach: maxHeldSecretsOfCaller, what: 'writes of Secrets of yours' });

  constructor(services: Services, authenticator: Authenticator, { recorders, activeRequests }: ProxyNeeds) {
    this.#services = services;
    this.#authenticator = authenticator;
    this.#recorders = recorders;
    this.#activeRequests = activeRequests;
    reportRefusals(services.metrics, 'secrets', this.#heldSecrets);
    this.#own = `${services.basePath}/api/kubernetes`;
  }

  /** Marks requests without a time limit, and answers that may be compressed. @throws StatusError 400, 404 */
  readonly prepare: Preparation = (ctx) => {
    const isUpgrade = upgradeOf(ctx.req) !== undefined;
    const target = ctx.method === 'GET' && !isUpgrade ? this.#targetOf(ctx) : undefined;
    if (isUpgrade || (target && isStream(target))) ctx.state.isLasting = true;
    else if (target && isCompressible(target)) ctx.state.isCompressed = true;
  };

  /** Parses the target of a request once. @throws StatusError 400, 404 */
  #targetOf(ctx: Context): Target {
    const target = this.#targets.get(ctx) ?? targetOf(ctx, this.#own);
    this.#targets.set(ctx, target);
    return target;
  }

  /** @throws StatusError 400, 401, 403, 404, 413, 429, 503, 504 */
  async answer(ctx: Context, caller: Caller, signal: AbortSignal): Promise<void> {
    const { apiServer, auditIntake, config, now, rbac } = this.#services;
    const rules = config.kubernetes.proxy;
    const target = this.#targetOf(ctx);
    const recorder = auditIntake && { auditIntake, now, policy: config.audit.policy, activeRequests: this.#activeRequests, rbac };
    const recording = recorder && Recording.begin(ctx, caller, target, recorder);
    const { tokenSecretRefusal } = checkRequest(ctx, caller, target, this.#services);
    if (caller.viewing && !isRead(ctx.method, target)) this.#recordViewedWrite(ctx, caller.viewing);
    const isLong = ctx.state.isLasting === true;
    const lasting = isLong ? this.#whilePermitted({ ctx, caller, target }, signal) : undefined;
    const reader = cutWhenStuck(ctx.req.socket, { stuckMs: isLong ? rules.idleTimeout : stuckMs, over: signal });
    ctx.state.lifetime.onClose(() => {
      lasting?.end();
      reader.end();
    });
    const call: PassedCall = {
      method: ctx.method,
      path: target.path,
      search: compactSearch(target, ctx.req.headers['user-agent']),
      headers: ctx.state.isCompressed && isDiscovery(target) ? withPlainETags(ctx.req.headers) : ctx.req.headers,
      body: tokenSecretRefusal && hasBody(ctx.req) ? await this.#secretBody(ctx, caller, tokenSecretRefusal) : bodyOf(ctx),
      auditID: recording?.id,
      isLong,
      signal: lasting?.signal ?? signal,
    };
    if (recording) Object.assign(call, { body: recording.reading(call.body), headers: recording.asking(call.headers) });
    await recording?.announce();
    let code: number | undefined;
    try {
      if (target.upgrade !== undefined) return await this.#switch({ ctx, caller, target }, target.upgrade, call, recording);
      if (recording?.isScale) await this.#readBefore(caller, call, recording);
      const answer = await apiServer.passageOf(caller).answer(call);
      code = answer.statusCode;
      const content = await contentOf(answer, { isGathered: isGathered(target) || recording?.readsAnswer === true }, call);
      recording?.saw(code, content);
      answerWith(ctx, answer, this.#own, recording?.counting(content) ?? content);
    } catch (error) {
      recording?.failed(error, code);
      throw error;
    }
    if (!isLong) return;
    // Proxies such as nginx buffer answers by default.
    ctx.set('X-Accel-Buffering', 'no');
    // A watch may be silent for a long time, and its headers would wait for the first event.
    ctx.flushHeaders();
  }

  /** Reads the number of replicas with the rights of the caller, for the event of the write. Without that right the event does not tell it. */
  async #readBefore(caller: Caller, { path, signal }: PassedCall, recording: Recording): Promise<void> {
    const call: PassedCall = { method: 'GET', path, search: '', headers: { accept: 'application/json' }, isLong: false, signal };
    try {
      const { statusCode, body } = await this.#services.apiServer.passageOf(caller).answer(call);
      recording.sawBefore(statusCode, await gathered(body, signal));
    } catch {
      // The write itself tells the caller what fails.
    }
  }

  /** @throws StatusError 429, or the refusal */
  #secretBody(ctx: Context, caller: Caller, refusal: StatusError): Promise<PassedCall['body']> {
    ctx.state.lifetime.onClose(this.#heldSecrets.begin(callerKey(caller)));
    return withoutTokenSecret(ctx, refusal);
  }

  /** Watches the credential and the right of a long request. */
  #whilePermitted({ ctx, caller, target }: Open, outer: AbortSignal): Lasting {
    const { access, config, longRequests } = this.#services;
    const credential = whilePermitted(outer, async (signal) => {
      // The API server is asked about credentials that the service cannot verify itself, once its answer is a minute old.
      await this.#authenticator.identify(await this.#authenticator.revalidate(ctx), signal);
    });
    const asked = requestedAccess(ctx.method, target);
    if (asked === undefined) return credential;
    const check = async (signal: AbortSignal) => {
      const isAllowed = await access.can(await this.#authenticator.revalidate(ctx), asked, signal);
      if (!isAllowed) throw forbidden({ ...asked, user: caller.identity.name });
    };
    const everyMs = caller.viewing && Math.max(config.kubernetes.accessCache, leastCheckMs);
    return longRequests.add({ users: [caller.identity, actorOf(caller).identity], check, everyMs }, credential);
  }

  /** Returns the access that the API server authorizes. @throws StatusError 400, 404 */
  access(ctx: Context): ViewedAccess {
    return accessOf(ctx.method, this.#targetOf(ctx));
  }

  #recordViewedWrite(ctx: Context, viewing: Viewing): void {
    ctx.state.lifetime.onClose(() => auditView(this.#services.audit, ctx, viewing, { code: receivedCode(ctx), reason: 'Write' }));
  }

  async #switch(open: Open, upgrade: Upgrade, call: PassedCall, recording: Recording | undefined): Promise<void> {
    const { ctx, caller } = open;
    const { apiServer, config } = this.#services;
    const shell = await this.#recorders.begin({ ...open, connection: connectionOf(open.target.resource?.subresource, open.target.search) });
    const passed = shell ? recordedCall(call, shell.signal) : call;
    const answer = await apiServer
      .passageOf(caller)
      .upgrade(passed, upgrade.protocol)
      .catch((error: unknown) => {
        if (shell) this.#recorders.end(shell.refused());
        throw error;
      });
    if (answer.socket === undefined) {
      if (shell) this.#recorders.end(shell.refused());
      return answerWith(ctx, answer, this.#own);
    }
    const protocol = upgrade.protocol === 'spdy/3.1' ? 'SPDY/3.1' : upgrade.protocol;
    ctx.respond = false;
    ctx.res.writeHead(101, { ...switchedHeaders(answer.headers), Connection: 'Upgrade', Upgrade: protocol });
    ctx.res.end();
    this.#record(open, { reason: 'Begin' });
    if (shell) recording?.recordedAs(shell.id);
    recording?.switched();
    const { socket: client, head: clientHead } = upgrade;
    const tunnel = { client, clientHead, upstream: answer.socket, upstreamHead: answer.head };
    const { idleTimeout: idleMs, pingInterval } = config.kubernetes.proxy;
    const pingMs = upgrade.protocol === 'websocket' ? pingInterval : undefined;
    const subProtocol = subProtocolOf(answer.headers);
    shell?.follow(upgrade.protocol, subProtocol);
    const carried = relay({ ...tunnel, idleMs, pingMs, protocol: subProtocol, signal: passed.signal, tap: shell });
    void carried.then(({ sent: bytesSent, received: bytesReceived, isIdle }) => {
      this.#record(open, { reason: 'End', bytesSent, bytesReceived });
      const reason = isIdle ? 'IdleTimeout' : endReasonOf(passed.signal);
      recording?.ended({ bytesSent, bytesReceived, ...(shell && { recorded: shell.end() }) }, { failure: shell?.endReason, reason });
      if (shell) this.#recorders.end(shell.handedOver());
    });
  }

  /** Records sessions in containers, whose contents the API server's audit log does not show. */
  #record({ ctx, caller, target: { path, resource } }: Open, { reason, ...bytes }: SessionEvent): void {
    if (!['exec', 'attach', 'portforward'].includes(resource?.subresource ?? '')) return;
    this.#services.audit.record({
      ...auditCaller(ctx, caller),
      audit: 'KubernetesSession',
      session: { path, ...bytes },
      outcome: 'success',
      reason,
    });
  }
}

/** Returns the call without extensions of WebSockets, which would compress the output. */
function recordedCall({ headers, signal, ...call }: PassedCall, ended: AbortSignal): PassedCall {
  const { 'sec-websocket-extensions': _extensions, ...others } = headers;
  return { ...call, headers: others, signal: AbortSignal.any([signal, ended]) };
}

const endReasons: Readonly<Record<number, string>> = { 401: 'CredentialEnded', 403: 'AccessLost', 410: 'AccessLost', 503: 'Shutdown' };

/** Returns the reason for which the service has ended a connection; undefined for an end by one of its sides. */
const endReasonOf = ({ reason }: AbortSignal): string | undefined =>
  reason instanceof StatusError ? endReasons[reason.status.code] : undefined;

interface Open {
  ctx: Context;
  caller: Caller;
  target: Target;
}

interface SessionEvent {
  reason: 'Begin' | 'End';
  bytesSent?: number;
  bytesReceived?: number;
}

/** Restores the ETags of the API server, which compression has changed. */
const withPlainETags = (headers: Context['req']['headers']) => ({
  ...headers,
  ...(headers['if-none-match'] !== undefined && { 'if-none-match': headers['if-none-match'].replaceAll(/\.(?:br|gz)"/g, '"') }),
});

/** Reports whether the request is a watch or follows logs. */
const isStream = ({ resource, search }: Target): boolean =>
  resource?.prefix === 'watch' || isTrue(search, 'watch') || (resource?.subresource === 'log' && isTrue(search, 'follow'));

/** Reports whether the request reads groups, versions or resources: large and equal for all callers. */
const isDiscovery = ({ segments, resource }: Target): boolean =>
  resource === undefined && (segments[0] === 'api' || segments[0] === 'apis');

/** Reports whether the answer to a GET may be compressed: discovery, lists and objects without credentials. */
const isCompressible = (target: Target): boolean => isDiscovery(target) || (isGathered(target) && !holdsCredentials(target));

/** Reports whether answers hold credentials, such as sealed tokens and digests. Their compressed length would confirm a caller's guess. */
const holdsCredentials = ({ resource }: Target): boolean => resource?.resource === 'secrets' || resource?.group === 'auth.platform.io';

/** Reports whether the request reads a list or an object. Answers of subresources may be text that is read while it arrives. */
const isGathered = ({ resource }: Target): boolean =>
  resource !== undefined && resource.subresource === '' && resource.prefix === undefined;

function subProtocolOf({ 'sec-websocket-protocol': protocol }: PassedAnswer['headers']): string | undefined {
  return typeof protocol === 'string' ? protocol : undefined;
}

async function contentOf(
  { headers, body }: PassedAnswer,
  { isGathered }: { isGathered: boolean },
  { isLong, signal }: PassedCall,
): Promise<Readable | Buffer> {
  if (isLong) return isJson(headers) ? withErrorEvent(body, signal) : body;
  return isGathered ? gathered(body, signal) : body;
}

function bodyOf(ctx: Context): PassedCall['body'] {
  const { req } = ctx;
  if (!hasBody(req)) return undefined;
  const announced = req.headers['content-length'];
  return { stream: requestBody(ctx, maxBodyBytes), length: announced === undefined ? undefined : Number(announced) };
}
