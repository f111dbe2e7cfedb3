import { randomUUID } from 'node:crypto';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { RecordingStore } from '@atrium/audit-store/recording.ts';
import { actorOf, type Caller } from '@atrium/http/caller.ts';
import type { Counter } from '@atrium/http/telemetry/metrics.ts';
import type { Target } from '@atrium/kubernetes/request-target.ts';
import { localCluster } from '@atrium/objects/object-schemas.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import type { Services } from '../services.ts';
import { modeOf } from './rules.ts';
import { ShellRecording } from './shell-recording.ts';

/** Time that a stop gives the recordings that have not ended. */
const handOverMs = 5_000;

/** A request for a shell. */
interface Shell {
  ctx: Context;
  caller: Caller;
  target: Target;
  connection: AuditEvent['connection'];
}

interface RecordersOptions {
  /** Undefined for an installation without an audit store: shells that must be recorded are refused. */
  store: RecordingStore | undefined;
  /** Returns the AccessPolicies by which a user has a role now, by the name in Kubernetes. */
  policiesOf(user: string): readonly string[];
}

/** Begins the recordings of shells by the rules of `audit.recordings`. */
export class Recorders {
  readonly #services: Services;
  readonly #options: RecordersOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #lost: Counter;
  #isFailing = false;

  constructor(services: Services, options: RecordersOptions) {
    this.#services = services;
    this.#options = options;
    this.#lost = services.metrics.counter({
      name: 'atrium_recordings_lost_bytes_total',
      help: 'Bytes of output that recordings of shells lack, because the audit store did not take them in time.',
    });
  }

  /**
   * Begins the recording of a shell.
   *
   * @returns undefined for a shell that is not recorded
   * @throws StatusError 503 if it must be recorded, and the store does not take the recording
   */
  async begin({ ctx, caller, target: { resource }, connection }: Shell): Promise<ShellRecording | undefined> {
    const { subresource = '', namespace = '', name = '', group } = resource ?? {};
    if (group !== '' || resource?.resource !== 'pods' || (subresource !== 'exec' && subresource !== 'attach')) return undefined;
    const { config, clock, now } = this.#services;
    const { identity, session, accessToken } = actorOf(caller);
    const { recordings, maxRecordingBytes: maxBytes } = config.audit;
    const mode = modeOf(recordings, { namespace, groups: identity.groups, policies: () => this.#options.policiesOf(identity.name) });
    const { store } = this.#options;
    if (mode === 'off') return undefined;
    if (store === undefined) {
      if (mode === 'required') throw noStore();
      return undefined;
    }
    const shell = new ShellRecording({
      store,
      maxBytes,
      onLost: (bytes) => this.#lost.inc(bytes),
      onFailure: (error) => this.#failed(error),
      onKept: () => this.#kept(),
      clock,
      now,
      about: {
        id: randomUUID(),
        cluster: localCluster,
        user: { username: identity.name, ...(identity.uid && { uid: identity.uid }) },
        objectRef: { namespace, name, subresource },
        ...(connection?.container !== undefined && { container: connection.container }),
        ...(connection?.command && { command: connection.command }),
        ...(connection?.tty && { tty: true }),
        mode,
        startedAt: now().toISOString(),
        requestID: ctx.state.requestId,
        ...(session !== undefined && { session }),
        ...(accessToken !== undefined && { accessToken }),
      },
    });
    await shell.begin();
    return shell;
  }

  /** Waits for the end of a recording at the stop. */
  end(work: Promise<void>): void {
    const running = work.catch((error: unknown) => this.#failed(error)).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Hands over the ends of recordings, for a bounded time. */
  async stop(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(() => late.resolve(), handOverMs);
    await Promise.race([Promise.all(this.#running), late.promise]);
    clearTimeout(timer);
  }

  /** Logs an outage once. */
  #failed(error: unknown): void {
    if (!this.#isFailing) this.#services.log.warn({ err: error }, 'recordings of shells cannot be stored');
    this.#isFailing = true;
  }

  #kept(): void {
    if (this.#isFailing) this.#services.log.info('recordings of shells are stored again');
    this.#isFailing = false;
  }
}

function noStore(): StatusError {
  const message = 'the shell must be recorded, and this installation has no audit store';
  return new StatusError(503, 'ServiceUnavailable', message, { details: { causes: [{ reason: 'RecordingNotStored', message }] } });
}
