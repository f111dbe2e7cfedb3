import type { Context } from 'koa';
import type { Bearer } from '../http/operation.ts';
import { CallerPassage } from './caller-passage.ts';
import type { Connection } from './connection.ts';
import { type ForwardCall, forward } from './forward.ts';
import { type ImpersonationHeaders, impersonationHeaders, isImpersonationRefusal } from './impersonation.ts';
import { asOwnAccount, ourTrouble } from './own-account.ts';
import { Passage } from './passage.ts';
import type { ServerClock } from './server-clock.ts';
import { type ApiCall, type Credential, type StreamCall, Transport, type TransportOptions, type UpstreamResponse } from './transport.ts';
import { isRefusal, UpstreamError } from './upstream-error.ts';

export type { ApiCall } from './transport.ts';

/**
 * The one door to the API server. Everything goes through it either as the caller or as ourselves; the two are different types, so
 * that a function which says whose rights it needs cannot be given the other's.
 */
export class KubernetesClient {
  readonly #transport: Transport;
  readonly #passage: Passage;
  readonly #connection: Connection;
  readonly #refusalListeners: ((bearer: Bearer) => void)[] = [];
  /** Our own account: only for watches and for what docs/contract/conventions.md names. */
  readonly asService: ServiceClient;

  constructor(options: TransportOptions) {
    this.#transport = new Transport(options);
    this.#passage = new Passage(options);
    this.#connection = options.connection;
    this.asService = new ServiceClient(this.#transport, options.connection);
  }

  /**
   * With the rights of the sender of this token, or of the user whom it lets them act as.
   *
   * @throws StatusError 401 for an identity that cannot be impersonated
   */
  asCaller(bearer: Bearer): CallerClient {
    return new CallerClient(this.#transport, this.#connection, bearer, () => {
      for (const listener of this.#refusalListeners) listener(bearer);
    });
  }

  /** Told of a token that the API server does not accept any more: what it said of it before counts no longer. */
  onRefusal(listener: (bearer: Bearer) => void): void {
    this.#refusalListeners.push(listener);
  }

  /**
   * The same, for requests that the API server answers as it likes.
   *
   * @throws StatusError 401 for an identity that cannot be impersonated
   */
  passageOf(bearer: Bearer): CallerPassage {
    return new CallerPassage(this.#passage, this.#connection, bearer);
  }

  /** Why the API server could not be reached at the last try; undefined if it could. Names no host. */
  failure(): string | undefined {
    return this.#transport.failure();
  }

  /** Ends all calls and watches. */
  async close(): Promise<void> {
    await Promise.all([this.#transport.close(), this.#passage.close()]);
  }
}

/** Calls with the rights of the caller: with their own credential or, for `actAs`, with ours in their name. The API server decides on each. */
export class CallerClient {
  readonly #transport: Transport;
  readonly #connection: Connection;
  readonly #token: string;
  readonly #impersonation: ImpersonationHeaders | undefined;
  readonly #onRefusal: () => void;

  constructor(transport: Transport, connection: Connection, { token, actAs }: Bearer, onRefusal: () => void) {
    this.#transport = transport;
    this.#onRefusal = onRefusal;
    this.#connection = connection;
    this.#token = token;
    this.#impersonation = actAs && impersonationHeaders(actAs);
  }

  /**
   * The decoded body of a success.
   *
   * @throws UpstreamError the API server's own Status; 401 means that it does not accept the token
   * @throws StatusError 503 if it is out of reach, answers no JSON, or does not let us act as the caller; 504 after
   *   `kubernetes.requestTimeout`
   */
  request(call: ApiCall): Promise<unknown> {
    return this.#authorized((credential) => this.#transport.json(call, credential));
  }

  /**
   * Answers `ctx` with what the API server answers: status, media type and bytes, unparsed, as they come.
   *
   * @throws UpstreamError, StatusError as `request` does, before anything is answered
   */
  forward(ctx: Context, call: ForwardCall): Promise<void> {
    return forward(ctx, call, (streamCall) => this.#authorized((credential) => this.#transport.stream(streamCall, credential)));
  }

  async #authorized<T>(send: (credential: Credential) => Promise<T>): Promise<T> {
    const impersonation = this.#impersonation;
    if (impersonation === undefined) {
      return send({ authorization: `Bearer ${this.#token}`, isTheirs: true }).catch((error: unknown) => {
        if (isRefusal(error, 401)) this.#onRefusal();
        throw error;
      });
    }
    try {
      return await asOwnAccount(this.#connection, (authorization) => send({ authorization, impersonation }));
    } catch (error) {
      throw isRefusal(error, 401) || isImpersonationRefusal(error) ? ourTrouble(error) : error;
    }
  }
}

/** Calls with our own credential. */
export class ServiceClient {
  readonly #transport: Transport;
  readonly #connection: Connection;

  constructor(transport: Transport, connection: Connection) {
    this.#transport = transport;
    this.#connection = connection;
  }

  /** Whether the clock here agrees with that of the API server. */
  get serverClock(): ServerClock {
    return this.#transport.serverClock;
  }

  /** The namespace that we run in, if the connection knows it. */
  get namespace(): string | undefined {
    return this.#connection.namespace;
  }

  /**
   * The decoded body of a success.
   *
   * @throws UpstreamError the API server's own Status, but for 401, 403 and what is its own fault
   * @throws StatusError 503 if it is out of reach, fails, answers no JSON, or does not accept our credential or let us do this; 504
   *   after `kubernetes.requestTimeout`
   */
  request(call: ApiCall): Promise<unknown> {
    return this.#authorized((authorization) => this.#transport.json(call, { authorization }));
  }

  /** A success with its body unread: the caller has to read or destroy it. */
  stream(call: StreamCall): Promise<UpstreamResponse> {
    return this.#authorized((authorization) => this.#transport.stream(call, { authorization }));
  }

  async #authorized<T>(send: (authorization: string | undefined) => Promise<T>): Promise<T> {
    try {
      return await asOwnAccount(this.#connection, send);
    } catch (error) {
      // What it says of its own faults names parts behind it; callers asked nothing of it, we did.
      throw isRefusal(error, 401, 403) || isFailure(error) ? ourTrouble(error) : error;
    }
  }
}

const isFailure = (error: unknown): error is UpstreamError => error instanceof UpstreamError && error.status.code >= 500;
