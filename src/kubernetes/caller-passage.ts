import { Readable } from 'node:stream';
import type { Bearer } from '../http/operation.ts';
import type { Connection } from './connection.ts';
import { type ImpersonationHeaders, impersonationHeaders } from './impersonation.ts';
import { asOwnAccount, ourTrouble } from './own-account.ts';
import type { Passage, PassedCall } from './passage.ts';
import type { Credential, UpstreamResponse } from './transport.ts';
import type { UpgradeAnswer } from './upgrade-call.ts';
import { UpstreamError } from './upstream-error.ts';

/** What the API server answers to a request that was passed on. */
export interface PassedAnswer {
  statusCode: number;
  headers: UpstreamResponse['headers'];
  body: Readable;
}

type Answer = Omit<PassedAnswer, 'body'> & { body?: Readable };

/** Passes requests on with the rights of the caller: with their own credential or, for `actAs`, with ours in their name. */
export class CallerPassage {
  readonly #passage: Passage;
  readonly #connection: Connection;
  readonly #token: string;
  readonly #impersonation: ImpersonationHeaders | undefined;

  constructor(passage: Passage, connection: Connection, { token, actAs }: Bearer) {
    this.#passage = passage;
    this.#connection = connection;
    this.#token = token;
    this.#impersonation = actAs && impersonationHeaders(actAs);
  }

  /**
   * What the API server answers, refusals too, with the body unread.
   *
   * @throws StatusError 400; 503 if it is out of reach or does not let us act as the caller; 504
   */
  answer(call: PassedCall): Promise<PassedAnswer> {
    return this.#authorized(call, (credential) => this.#passage.answer(call, credential));
  }

  /** A connection in the protocol that was asked for, or what it answers instead. @throws as `answer` does */
  upgrade(call: PassedCall, protocol: string): Promise<(UpgradeAnswer & { socket: object }) | (PassedAnswer & { socket: undefined })> {
    return this.#authorized(call, (credential) => this.#passage.upgrade(call, protocol, credential));
  }

  async #authorized<T extends Answer>(call: PassedCall, send: (credential: Credential) => Promise<T>): Promise<T> {
    const impersonation = this.#impersonation;
    if (impersonation === undefined) return send({ authorization: `Bearer ${this.#token}`, isTheirs: true });
    let refused: unknown;
    try {
      return await asOwnAccount(this.#connection, async (authorization) => {
        // The body is gone: the caller has to send it again.
        if (refused !== undefined && call.body !== undefined) throw refused;
        const answer = await send({ authorization, impersonation });
        try {
          return await withoutOurRefusal(answer);
        } catch (error) {
          refused = error;
          throw error;
        }
      });
    } catch (error) {
      throw error === refused ? ourTrouble(error) : error;
    }
  }
}

/** A Status is far smaller. */
const statusLimit = 64 * 1024;

/** As JSON or as protobuf: which of them the caller wants is not ours to say. */
const impersonationRefusal = /" cannot impersonate\S* resource \\?"/;

/**
 * An answer that is about the caller, its bytes as they came.
 *
 * @throws UpstreamError for one that is about our own account
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
