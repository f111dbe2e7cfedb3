import type { Context } from 'koa';
import type { Bearer } from '../http/operation.ts';
import { serviceUnavailable } from '../http/status.ts';
import type { Connection } from './connection.ts';
import { type ForwardCall, forward } from './forward.ts';
import { type ApiCall, type StreamCall, Transport, type TransportOptions, type UpstreamResponse } from './transport.ts';
import { UpstreamError } from './upstream-error.ts';

export type { ApiCall } from './transport.ts';

/**
 * The one door to the API server. Everything goes through it either as the caller or as ourselves; the two are different types, so
 * that a function which says whose rights it needs cannot be given the other's.
 */
export class ApiServer {
  readonly #transport: Transport;
  /** Our own account: only for watches and for what api.md 1.4 names. */
  readonly asService: ServiceClient;

  constructor(options: TransportOptions) {
    this.#transport = new Transport(options);
    this.asService = new ServiceClient(this.#transport, options.connection);
  }

  /** With the rights of whoever sent this token. */
  asCaller(bearer: Bearer): CallerClient {
    return new CallerClient(this.#transport, bearer);
  }

  /** Why the API server could not be reached at the last try; undefined if it could. Names no host. */
  failure(): string | undefined {
    return this.#transport.failure();
  }

  /** Ends all calls and watches. */
  close(): Promise<void> {
    return this.#transport.close();
  }
}

/** Calls with the caller's credential. The API server decides on each. */
export class CallerClient {
  readonly #transport: Transport;
  readonly #authorization: string;

  constructor(transport: Transport, { token }: Bearer) {
    this.#transport = transport;
    this.#authorization = `Bearer ${token}`;
  }

  /**
   * The decoded body of a success.
   *
   * @throws UpstreamError the API server's own Status; 401 means that it does not accept the token
   * @throws StatusError 503 if it is out of reach or answers no JSON, 504 after `kubernetes.requestTimeout`
   */
  request(call: ApiCall): Promise<unknown> {
    return this.#transport.json(call, this.#authorization);
  }

  /**
   * Answers `ctx` with what the API server answers: status, media type and bytes, unparsed, as they come.
   *
   * @throws UpstreamError, StatusError as `request` does, before anything is answered
   */
  forward(ctx: Context, call: ForwardCall): Promise<void> {
    return forward(ctx, call, (streamCall) => this.#transport.stream(streamCall, this.#authorization));
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

  /** The namespace that we run in, if the connection knows it. */
  get namespace(): string | undefined {
    return this.#connection.namespace;
  }

  /**
   * The decoded body of a success.
   *
   * @throws UpstreamError the API server's own Status, but for 401 and 403
   * @throws StatusError 503 if it is out of reach, answers no JSON, or does not accept our credential or let us do this; 504 after
   *   `kubernetes.requestTimeout`
   */
  request(call: ApiCall): Promise<unknown> {
    return this.#authorized((authorization) => this.#transport.json(call, authorization));
  }

  /** A success with its body unread: whoever asks has to read or destroy it. */
  stream(call: StreamCall): Promise<UpstreamResponse> {
    return this.#authorized((authorization) => this.#transport.stream(call, authorization));
  }

  /** A credential that was refused is read again at once. Nothing has happened by then, so any call may be made again. */
  async #authorized<T>(send: (authorization: string | undefined) => Promise<T>): Promise<T> {
    const first = await this.#authorization();
    try {
      return await send(first);
    } catch (error) {
      if (!isRefusal(error, 401)) throw ours(error);
      this.#connection.discardAuthorization(first);
      const second = await this.#authorization();
      if (second === first) throw ours(error);
      return await send(second).catch((again: unknown) => Promise.reject(ours(again)));
    }
  }

  async #authorization(): Promise<string | undefined> {
    try {
      return await this.#connection.authorization();
    } catch (cause) {
      throw serviceUnavailable('kubernetes', { cause });
    }
  }
}

const isRefusal = (error: unknown, ...codes: number[]) => error instanceof UpstreamError && codes.includes(error.status.code);

/** What our own account is or may not do is our trouble: passed on, it would tell callers something untrue about themselves. */
const ours = (error: unknown) => (isRefusal(error, 401, 403) ? serviceUnavailable('kubernetes', { cause: error }) : error);
