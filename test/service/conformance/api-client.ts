import { request } from 'undici';
import { z } from 'zod';
import { statusBody } from '../../../packages/kubernetes/test/fake-api-server.ts';
import type { ApiServer, Person } from '../../support/api-server.ts';
import { Trusting } from '../../support/trusting.ts';
import { WatchStream } from './watch-stream.ts';

const kubernetesObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    generation: z.number().optional(),
    namespace: z.string().optional(),
    finalizers: z.array(z.string()).optional(),
    deletionTimestamp: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.record(z.string(), z.unknown()).optional(),
  status: z.record(z.string(), z.unknown()).optional(),
});
export type KubernetesObject = z.infer<typeof kubernetesObject>;

const kubernetesList = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ resourceVersion: z.string(), continue: z.string().optional(), remainingItemCount: z.number().optional() }),
  items: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) })),
});
export type KubernetesList = z.infer<typeof kubernetesList>;

export interface Answer {
  status: number;
  headers: Record<string, string>;
  text: string;
  /** Decoded JSON of the body; undefined for another media type. */
  body: unknown;
}

/** Returns the Status with which an API server refuses a request. */
export const failure = (code: number, reason: string, message: string, details: object) => ({
  ...statusBody(code, reason, message),
  details,
});

export type Query = Record<string, string | number | boolean>;

export interface Call {
  query?: Query;
  headers?: Record<string, string>;
  /** Strings and bytes are sent unchanged, other values as JSON. */
  body?: unknown;
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

/** A caller of an API server: plain HTTP, without knowledge of the paths. */
export class ApiClient {
  readonly #server: ApiServer;
  readonly #token: string | undefined;
  readonly #agent: Trusting;

  constructor(server: ApiServer, token: string | undefined) {
    this.#server = server;
    this.#token = token;
    this.#agent = new Trusting(server.certificateAuthority);
  }

  async send(method: string, path: string, { query = {}, headers = {}, body }: Call = {}): Promise<Answer> {
    const response = await request(this.#url(path, query), {
      dispatcher: this.#agent,
      method,
      headers: { ...this.#authorization(), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? (body ?? null) : JSON.stringify(body),
    });
    const text = await response.body.text();
    return { status: response.statusCode, headers: singleValues(response.headers), text, body: parsed(text) };
  }

  get(path: string, query: Query = {}): Promise<Answer> {
    return this.send('GET', path, { query });
  }

  post(path: string, body: unknown, query: Query = {}): Promise<Answer> {
    return this.send('POST', path, { query, body });
  }

  put(path: string, body: unknown, query: Query = {}): Promise<Answer> {
    return this.send('PUT', path, { query, body });
  }

  patch(path: string, body: unknown, type: keyof typeof patchTypes = 'merge'): Promise<Answer> {
    return this.send('PATCH', path, { body, headers: { 'content-type': patchTypes[type] } });
  }

  delete(path: string, body?: unknown): Promise<Answer> {
    return this.send('DELETE', path, { body });
  }

  /** Returns the object of a successful POST. @throws the answer of the server otherwise */
  async create(path: string, body: unknown): Promise<KubernetesObject> {
    return objectOf(await this.post(path, body));
  }

  /** Reads the object at `path`. @throws the answer of the server otherwise */
  async read(path: string): Promise<KubernetesObject> {
    return objectOf(await this.get(path));
  }

  /** Reads the list at `path`. @throws the answer of the server otherwise */
  async list(path: string, query: Query = {}): Promise<KubernetesList> {
    const answer = await this.get(path, query);
    return kubernetesList.parse(succeeded(answer).body);
  }

  /** Opens a watch, and waits for the head of the answer. */
  async watch(path: string, query: Query = {}, headers: Record<string, string> = {}): Promise<WatchStream> {
    const abort = new AbortController();
    const response = await request(this.#url(path, { watch: true, ...query }), {
      dispatcher: this.#agent,
      headers: { ...this.#authorization(), ...headers },
      signal: abort.signal,
    });
    return new WatchStream(response, abort);
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  #authorization(): Record<string, string> {
    return this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
  }

  #url(path: string, query: Query): string {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])).toString();
    return `${this.#server.url}${path}${search && `?${search}`}`;
  }
}

export async function connect(server: ApiServer, person: Person): Promise<ApiClient> {
  return new ApiClient(server, await server.token(person));
}

/** Returns the object of a successful answer. @throws the answer otherwise */
export function objectOf(answer: Answer): KubernetesObject {
  return kubernetesObject.parse(succeeded(answer).body);
}

export const namesOf = (list: KubernetesList) => list.items.map((item) => item.metadata.name);

function succeeded(answer: Answer): Answer {
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
}

function singleValues(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
