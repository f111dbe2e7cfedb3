import type { ServerResponse } from 'node:http';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { type Answer, json, type SeenRequest, status, statusBody } from './fake-api-server.ts';

interface StoredEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: KubernetesObject;
}

/** A resource that is listed and watched like that of an API server, until a test replaces some of its answers. */
export class FakeResource {
  readonly objects = new Map<string, KubernetesObject>();
  readonly #path: string;
  readonly #watchers = new Set<ServerResponse>();
  readonly #faults: { kind: 'list' | 'watch'; answer: Answer }[] = [];
  #version = 1000;
  #events: StoredEvent[] = [];
  #oldest = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get version(): string {
    return String(this.#version);
  }

  /** Replaces the answers to the next lists or watches. */
  fail(kind: 'list' | 'watch', ...answers: Answer[]): void {
    this.#faults.push(...answers.map((answer) => ({ kind, answer })));
  }

  put(name: string, data = '', namespace?: string): void {
    this.#version += 1;
    const key = namespace ? `${namespace}/${name}` : name;
    const type = this.objects.has(key) ? 'MODIFIED' : 'ADDED';
    const object = {
      apiVersion: 'v1',
      kind: 'Thing',
      metadata: {
        name,
        ...(namespace && { namespace }),
        uid: `uid-${name}`,
        resourceVersion: this.version,
        creationTimestamp: '2026-01-01T00:00:00Z',
      },
      data,
    };
    this.objects.set(key, object);
    this.#tell({ type, object });
  }

  remove(name: string): void {
    const object = this.objects.get(name);
    if (object === undefined) throw new Error(`no ${name}`);
    this.#version += 1;
    this.objects.delete(name);
    this.#tell({ type: 'DELETED', object: { ...object, metadata: { ...object.metadata, resourceVersion: this.version } } });
  }

  /** Increases the version without a change of the watched objects. */
  bookmark(): void {
    this.#version += 1;
    this.send({ type: 'BOOKMARK', object: { kind: 'Thing', apiVersion: 'v1', metadata: { resourceVersion: this.version } } });
  }

  /** Compacts the history: an earlier watch gets 410. */
  compact(): void {
    this.#events = [];
    this.#oldest = this.#version;
  }

  /** Replaces the store by one with smaller versions. */
  restart(): void {
    this.#version = 10;
    this.#events = [];
    this.#oldest = 0;
  }

  /** Sends an event to all open watches, unchanged. */
  send(event: unknown): void {
    this.write(`${JSON.stringify(event)}\n`);
  }

  write(text: string | Buffer): void {
    for (const watcher of this.#watchers) watcher.write(text);
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Detaches the open watch, which gets no more events. */
  detach(): ServerResponse {
    const [watcher] = this.#watchers;
    if (watcher === undefined) throw new Error('nobody watches');
    this.#watchers.clear();
    return watcher;
  }

  readonly answer: Answer = (request, response) => {
    if (request.path !== this.#path) return status(response, 404, 'NotFound');
    const kind = request.query.get('watch') === 'true' ? 'watch' : 'list';
    const fault = this.#faults.findIndex((candidate) => candidate.kind === kind);
    if (fault !== -1) return this.#faults.splice(fault, 1)[0]?.answer(request, response);
    return kind === 'watch' ? this.#watch(request, response) : this.#list(request, response);
  };

  #list({ query }: SeenRequest, response: ServerResponse): void {
    const limit = Number(query.get('limit') ?? 500);
    const from = Number(query.get('continue')?.split(':')[1] ?? 0);
    const version = query.get('continue')?.split(':')[0] ?? this.version;
    const items = [...this.objects.values()].slice(from, from + limit);
    const next = from + limit < this.objects.size ? `${version}:${from + limit}` : '';
    json(response, 200, {
      kind: 'ThingList',
      apiVersion: 'v1',
      metadata: { resourceVersion: version, ...(next && { continue: next }) },
      items,
    });
  }

  #watch({ query }: SeenRequest, response: ServerResponse): void {
    const from = Number(query.get('resourceVersion'));
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.flushHeaders();
    if (from < this.#oldest) {
      response.end(`${JSON.stringify({ type: 'ERROR', object: statusBody(410, 'Expired') })}\n`);
      return;
    }
    const missed = this.#events.filter(({ object }) => Number(object.metadata.resourceVersion) > from);
    for (const event of missed) response.write(`${JSON.stringify(event)}\n`);
    this.#watchers.add(response);
    const timer = setTimeout(() => response.end(), Number(query.get('timeoutSeconds')) * 1000);
    response.on('close', () => {
      clearTimeout(timer);
      this.#watchers.delete(response);
    });
  }

  #tell(event: StoredEvent): void {
    this.#events.push(event);
    this.send(event);
  }
}
