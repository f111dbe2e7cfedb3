import { createHash } from 'node:crypto';
import { readAtMost, TrustingAgent } from '@atrium/http/outgoing.ts';
import { readSecretFile } from '@atrium/http/secret-file.ts';
import type { Counter, Metrics } from '@atrium/http/telemetry/metrics.ts';
import { AwsV4Signer } from 'aws4fetch';
import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';

/** Shorter than the time that replicas wait for the store: a timeout there cuts the connections of other calls, too. */
const timeoutMs = 5_000;
const connections = 16;
/** Bound of an object, which a request of a replica brought. */
const maxObjectBytes = 4 * 1024 * 1024;
/** Names in one request (S3 API, DeleteObjects). */
const deletedAtOnce = 1_000;

type BucketSettings = NonNullable<Config['auditStore']['recordings']['s3']>;

interface BucketOptions {
  settings: BucketSettings;
  metrics: Metrics;
  log: Logger;
}

interface BucketCall {
  method: 'GET' | 'PUT' | 'POST';
  /** Name of an object; empty for the bucket itself. */
  key: string;
  query?: string;
  content?: Uint8Array;
  headers?: Record<string, string>;
}

interface BucketAnswer {
  isFound: boolean;
  body: Buffer | undefined;
}

/** Objects in a bucket of an S3 API. Credentials and the certificate authority are files that may change. */
export class Bucket {
  readonly #options: BucketOptions;
  readonly #requests: Counter<'outcome'>;
  #agent: TrustingAgent;
  #failure: string | undefined;

  constructor(options: BucketOptions) {
    this.#options = options;
    this.#agent = this.#newAgent();
    this.#requests = options.metrics.counter({
      name: 'atrium_audit_store_bucket_requests_total',
      help: 'Requests to the bucket of recordings, by outcome (done, failed).',
      labelNames: ['outcome'],
    });
  }

  /** Returns the reason why the last request failed, undefined if it did not. */
  readonly failure = (): string | undefined => this.#failure;

  async put(key: string, content: Uint8Array, type: string): Promise<void> {
    await this.#call({ method: 'PUT', key, content, headers: { 'content-type': type } });
  }

  /** Returns undefined if the object does not exist. */
  async get(key: string): Promise<Buffer | undefined> {
    const { isFound, body } = await this.#call({ method: 'GET', key });
    return isFound ? body : undefined;
  }

  /** Deletes objects. Names without an object are ignored. */
  async delete(keys: readonly string[]): Promise<void> {
    const slices = Array.from({ length: Math.ceil(keys.length / deletedAtOnce) }, (_, at) =>
      keys.slice(at * deletedAtOnce, (at + 1) * deletedAtOnce),
    );
    await Promise.all(slices.map((slice) => this.#deleteSlice(slice)));
  }

  async stop(): Promise<void> {
    await this.#agent.stop();
  }

  /** Keys have no characters that XML escapes. */
  async #deleteSlice(keys: readonly string[]): Promise<void> {
    const names = keys.map((key) => `<Object><Key>${this.#options.settings.prefix}${key}</Key></Object>`).join('');
    const content = Buffer.from(`<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>${names}</Delete>`);
    const headers = { 'content-type': 'application/xml', 'content-md5': createHash('md5').update(content).digest('base64') };
    await this.#call({ method: 'POST', key: '', query: '?delete=', content, headers });
  }

  /** @throws Error that names the bucket and the reason, without a credential */
  async #call(call: BucketCall): Promise<BucketAnswer> {
    const { endpoint, bucket } = this.#options.settings;
    try {
      const answer = await this.#send(call);
      this.#tell(undefined);
      return answer;
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown error';
      this.#tell(reason);
      throw new Error(`the bucket ${bucket} at ${endpoint} is not available: ${reason}`);
    }
  }

  async #send(call: BucketCall): Promise<BucketAnswer> {
    const { url, method, headers } = await this.#signed(call);
    const agent = this.#agent;
    const signal = AbortSignal.timeout(timeoutMs);
    const request = { method, headers: Object.fromEntries(headers), body: call.content, signal };
    const answer = await agent.request(url.href, request).catch((error: unknown) => {
      // Another certificate authority is read with the next connection.
      if (this.#agent === agent && !signal.aborted) {
        this.#agent = this.#newAgent();
        void agent.stop();
      }
      throw signal.aborted ? new Error('no answer in time') : error;
    });
    const body = await readAtMost(answer.body, maxObjectBytes);
    const isDone = answer.statusCode < 300;
    const code = isDone && call.method === 'GET' ? undefined : errorCode(body);
    const isMissing = call.method === 'GET' && code === 'NoSuchKey';
    if (!isMissing && (!isDone || code !== undefined))
      throw new Error(`status ${answer.statusCode}${code === undefined ? '' : ` ${code}`}`);
    return { isFound: isDone, body };
  }

  async #signed({ method, key, query = '', content, headers = {} }: BucketCall): ReturnType<AwsV4Signer['sign']> {
    const { region, prefix, accessKeyIDFile, secretAccessKeyFile, sessionTokenFile } = this.#options.settings;
    const [accessKeyId, secretAccessKey, sessionToken] = await Promise.all([
      credentialIn(accessKeyIDFile),
      credentialIn(secretAccessKeyFile),
      sessionTokenFile === undefined ? undefined : credentialIn(sessionTokenFile),
    ]);
    const signer = new AwsV4Signer({
      method,
      url: `${addressOf(this.#options.settings)}${key === '' ? '' : `/${prefix}${key}`}${query}`,
      headers: {
        ...headers,
        'x-amz-content-sha256': createHash('sha256')
          .update(content ?? '')
          .digest('hex'),
      },
      ...{ accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
      ...{ service: 's3', region },
    });
    return await signer.sign();
  }

  #newAgent(): TrustingAgent {
    return new TrustingAgent({ caFile: this.#options.settings.caFile, connections, connectTimeoutMs: timeoutMs });
  }

  /** Logs an outage once, not at each request. */
  #tell(reason: string | undefined): void {
    const { log, settings } = this.#options;
    const { endpoint, bucket } = settings;
    this.#requests.inc({ outcome: reason === undefined ? 'done' : 'failed' });
    if (reason !== undefined && this.#failure === undefined)
      log.warn({ endpoint, bucket, reason }, 'bucket of recordings is not available');
    if (reason === undefined && this.#failure !== undefined) log.info({ endpoint, bucket }, 'bucket of recordings is available again');
    this.#failure = reason;
  }
}

/** Returns the URL of the bucket, without a slash at its end. */
export function addressOf({ endpoint, bucket, pathStyle }: Pick<BucketSettings, 'endpoint' | 'bucket' | 'pathStyle'>): string {
  const base = endpoint.replace(/\/{1,8}$/, '');
  return pathStyle ? `${base}/${bucket}` : base.replace('://', `://${bucket}.`);
}

/** @throws Error without the text: one of a header names its value */
async function credentialIn(file: string): Promise<string> {
  const text = await readSecretFile(file);
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Error(`${file} holds no credential: it must be one line of ASCII characters without blanks`);
  return text;
}

/** Returns the code of an error (S3 API, Error responses). The answer to a deletion of several objects has one with status 200. */
const errorCode = (body: Buffer | undefined): string | undefined => /<Code>(\w{1,64})<\/Code>/.exec(body?.toString() ?? '')?.[1];
