import type { Bearer, TokenScope } from '@atrium/http/caller.ts';
import { requireScope } from '@atrium/http/scope.ts';
import type { Context } from 'koa';
import { CallerPassage } from './caller-passage.ts';
import type { Connection } from './connection.ts';
import { type ForwardCall, forward } from './forward.ts';
import { actingAs, isImpersonationRefusal } from './impersonation.ts';
import { asOwnAccount, ownAccountRefused, ServiceClient } from './own-account.ts';
import { Passage } from './passage.ts';
import { accessOfCall } from './request-target.ts';
import { type ApiCall, type Credential, type StreamCall, Transport, type TransportOptions, type UpstreamResponse } from './transport.ts';
import { answerOf, isRefusal, pageAsOutage } from './upstream-error.ts';

export type { ApiCall } from './transport.ts';

interface KubernetesClientOptions extends TransportOptions {
  /** Names the user who acts at each shell that is passed on by impersonation (`audit.refuseDirectShells`). Default: false. */
  marksShells?: boolean;
}

/**
 * The only client of the API server. Calls are made as the caller or as the service; the two are different types, so that a function that
 * needs the rights of one cannot be given the other.
 */
export class KubernetesClient {
  readonly #transport: Transport;
  readonly #passage: Passage;
  readonly #connection: Connection;
  readonly #marksShells: boolean;
  readonly #refusalListeners: ((bearer: Bearer) => void)[] = [];
  /** Client with the service's own account, only for watches and for the uses that docs/contract/conventions.md names. */
  readonly asService: ServiceClient;

  constructor(options: KubernetesClientOptions) {
    this.#transport = new Transport(options);
    this.#passage = new Passage(options);
    this.#connection = options.connection;
    this.#marksShells = options.marksShells ?? false;
    this.asService = new ServiceClient(this.#transport, options.connection);
  }

  /**
   * Returns a client with the rights of the token, or of the user that it may impersonate.
   *
   * @throws StatusError 401 for an identity that cannot be impersonated
   */
  asCaller(bearer: Bearer): CallerClient {
    return new CallerClient(this.#transport, this.#connection, bearer, () => {
      for (const listener of this.#refusalListeners) listener(bearer);
    });
  }

  /** Calls the listener with a token that the API server no longer accepts, so that earlier results for it are dropped. */
  onRefusal(listener: (bearer: Bearer) => void): void {
    this.#refusalListeners.push(listener);
  }

  /**
   * Returns a client that forwards requests with the rights of the token.
   *
   * @throws StatusError 401 for an identity that cannot be impersonated
   */
  passageOf(bearer: Bearer): CallerPassage {
    return new CallerPassage(this.#passage, this.#connection, bearer, this.#marksShells);
  }

  /** Returns the reason why the last call did not reach the API server, undefined if it did. Names no host. */
  failure(): string | undefined {
    return this.#transport.failure();
  }

  /** Waits for the writes of requests under way, at most for that time. */
  drainWrites(withinMs: number): Promise<void> {
    return this.#transport.drainWrites(withinMs);
  }

  /** Aborts all calls and watches. */
  async close(): Promise<void> {
    await Promise.all([this.#transport.close(), this.#passage.close()]);
  }
}

/**
 * Calls with the rights of the caller: with their own credential or, for `actAs`, by impersonation. The API server authorizes each call.
 */
export class CallerClient {
  readonly #transport: Transport;
  readonly #connection: Connection;
  readonly #token: string;
  readonly #acting: ReturnType<typeof actingAs>;
  readonly #scope: TokenScope | undefined;
  readonly #onRefusal: () => void;

  constructor(transport: Transport, connection: Connection, bearer: Bearer, onRefusal: () => void) {
    this.#transport = transport;
    this.#onRefusal = onRefusal;
    this.#connection = connection;
    this.#token = bearer.token;
    this.#acting = actingAs(bearer);
    this.#scope = bearer.scope;
  }

  /**
   * Returns the decoded body of a success.
   *
   * @throws UpstreamError the API server's own Status; 401 if it does not accept the token
   * @throws StatusError 503 if the API server cannot be reached, answers no JSON or refuses the impersonation; 504 after
   * `kubernetes.requestTimeout`
   */
  async request(call: ApiCall): Promise<unknown> {
    this.#requireScope(call);
    return this.#authorized((credential) => this.#transport.json(call, credential));
  }

  /** Returns a success with its body unread. The caller has to read or destroy it. @throws like `request` */
  async stream(call: StreamCall): Promise<UpstreamResponse> {
    this.#requireScope(call);
    return this.#authorized((credential) => this.#transport.stream(call, credential));
  }

  /**
   * Answers `ctx` with the answer of the API server: status, media type and bytes, unparsed, as they arrive.
   *
   * @throws UpstreamError, StatusError like `request`, before the answer begins
   */
  forward(ctx: Context, call: ForwardCall): Promise<void> {
    return forward(ctx, call, (streamCall) => this.stream(streamCall)).catch((error: unknown) => {
      // For a resource that is not installed, kube-apiserver's own answer is no Status. Codes from 500 on are outages.
      const answer = answerOf(error);
      throw answer === undefined || answer.isUnknownPathText || answer.status.code >= 500 ? error : pageAsOutage(error);
    });
  }

  /** Reviews of the caller's own access are asked for what the scope has. @throws StatusError 403 OutsideScope */
  #requireScope({ method, path, query = '' }: ApiCall): void {
    if (this.#scope !== undefined && !path.endsWith('/selfsubjectaccessreviews'))
      requireScope(this.#scope, accessOfCall({ method, path, search: String(query) }));
  }

  async #authorized<T>(send: (credential: Credential) => Promise<T>): Promise<T> {
    const { isOwn, headers } = this.#acting;
    const impersonation = headers && { impersonation: headers };
    if (isOwn) {
      return send({ authorization: `Bearer ${this.#token}`, isTheirs: true, ...impersonation }).catch((error: unknown) => {
        if (isRefusal(error, 401)) this.#onRefusal();
        throw error;
      });
    }
    try {
      return await asOwnAccount(this.#connection, (authorization) => send({ authorization, ...impersonation }));
    } catch (error) {
      throw isRefusal(error, 401) || isImpersonationRefusal(error) ? ownAccountRefused(error) : error;
    }
  }
}
