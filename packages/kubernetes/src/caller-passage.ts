import { Readable } from 'node:stream';
import type { Bearer, TokenScope } from '@atrium/http/caller.ts';
import { requireScope } from '@atrium/http/scope.ts';
import type { Connection } from './connection.ts';
import { actingAs, namingActor } from './impersonation.ts';
import { asOwnAccount, ownAccountRefused } from './own-account.ts';
import type { Passage, PassedCall } from './passage.ts';
import { accessOfCall } from './request-target.ts';
import type { Credential, UpstreamResponse } from './transport.ts';
import type { UpgradeAnswer } from './upgrade-call.ts';
import { UpstreamError } from './upstream-error.ts';

/** Answer of the API server to a forwarded request. */
export interface PassedAnswer {
  statusCode: number;
  headers: UpstreamResponse['headers'];
  body: Readable;
}

type Answer = Omit<PassedAnswer, 'body'> & { body?: Readable };

/** Forwards requests with the rights of the caller: with their own credential or, for `actAs`, by impersonation. */
export class CallerPassage {
  readonly #passage: Passage;
  readonly #connection: Connection;
  readonly #token: string;
  readonly #acting: ReturnType<typeof actingAs>;
  readonly #actingInShells: ReturnType<typeof actingAs>;
  readonly #scope: TokenScope | undefined;

  /** @param marksShells names the user who acts at each shell, which no other way to the API server does */
  constructor(passage: Passage, connection: Connection, bearer: Bearer, marksShells: boolean) {
    this.#passage = passage;
    this.#connection = connection;
    this.#token = bearer.token;
    this.#acting = actingAs(bearer);
    this.#actingInShells = marksShells ? actingAs(namingActor(bearer)) : this.#acting;
    this.#scope = bearer.scope;
  }

  /**
   * Returns the answer of the API server with the body unread, also if it is a refusal.
   *
   * @throws StatusError 400; 503 if the API server cannot be reached or refuses the impersonation; 504
   */
  answer(call: PassedCall): Promise<PassedAnswer> {
    return this.#authorized(call, this.#acting, (credential) => this.#passage.answer(call, credential));
  }

  /** Returns a connection in the requested protocol, or the answer of the API server instead. @throws like `answer` */
  upgrade(call: PassedCall, protocol: string): Promise<(UpgradeAnswer & { socket: object }) | (PassedAnswer & { socket: undefined })> {
    return this.#authorized(call, this.#actingInShells, (credential) => this.#passage.upgrade(call, protocol, credential));
  }

  async #authorized<T extends Answer>(
    call: PassedCall,
    { isOwn, headers }: ReturnType<typeof actingAs>,
    send: (credential: Credential) => Promise<T>,
  ): Promise<T> {
    if (this.#scope !== undefined) requireScope(this.#scope, accessOfCall(call));
    const impersonation = headers && { impersonation: headers };
    if (isOwn) return send({ authorization: `Bearer ${this.#token}`, isTheirs: true, ...impersonation });
    let refused: unknown;
    try {
      return await asOwnAccount(this.#connection, async (authorization) => {
        // The body is consumed, so that the caller has to send it again.
        if (refused !== undefined && call.body !== undefined) throw refused;
        const answer = await send({ authorization, ...impersonation });
        try {
          return await withoutOurRefusal(answer);
        } catch (error) {
          refused = error;
          throw error;
        }
      });
    } catch (error) {
      throw error === refused ? ownAccountRefused(error) : error;
    }
  }
}

/** Bound of the bytes that are searched. A Status is far smaller. */
const statusLimit = 64 * 1024;

/** Matches the message in JSON and in protobuf: the caller chooses the media type. */
const impersonationRefusal = /" cannot impersonate\S* (?:resource|path) \\?"/;

/**
 * Returns an answer about the caller, with its bytes unchanged.
 *
 * @throws UpstreamError for an answer about the service's own account
 */
async function withoutOurRefusal<T extends Answer>(answer: T): Promise<T> {
  const { statusCode, headers, body } = answer;
  if (body === undefined || (statusCode !== 401 && statusCode !== 403)) return answer;
  const rest: AsyncIterator<Buffer> = body[Symbol.asyncIterator]();
  const begin = await beginOf(rest);
  const text = begin.toString('latin1');
  if (statusCode === 401 || impersonationRefusal.test(text)) {
    body.destroy();
    throw new UpstreamError(statusCode, headers, text);
  }
  return { ...answer, body: Readable.from(joined(begin, rest), { objectMode: false }) };
}

async function beginOf(chunks: AsyncIterator<Buffer>): Promise<Buffer> {
  const begin: Buffer[] = [];
  for (let length = 0; length < statusLimit; ) {
    const { done, value } = await chunks.next();
    if (done) break;
    begin.push(value);
    length += value.length;
  }
  return Buffer.concat(begin);
}

async function* joined(begin: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield begin;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
