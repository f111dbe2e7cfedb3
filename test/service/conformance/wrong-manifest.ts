/** Sends manifests with a mistake: a valid object of each kind, and a change of it. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { base64, signingRequest, subjectOf } from '../../support/signing-request.ts';
import type { Answer, ApiClient } from './api-client.ts';

export const namespace = 'wrong';

/** Request that carries the mistake; `create` sends the whole manifest, the others change the object that exists. */
type Verb = 'create' | 'update' | 'merge' | 'json' | 'strategic' | 'apply' | 'status' | 'scale';
type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** Values by dotted path. Null removes the member. */
export type Change = Readonly<Record<string, unknown>>;

export interface WrongManifest {
  kind: string;
  change: Change;
  verb: Verb;
  fieldValidation: FieldValidation;
}

interface Base {
  /** Group, version and plural of a resource of the namespace, or the whole path of another. */
  path: string;
  name?: string;
  object: Record<string, unknown>;
}

interface Table {
  manifests: Record<string, Base>;
  rows: readonly unknown[];
}

export const readTable = (url: URL): Table => parse(readFileSync(url, 'utf8'), { maxAliasCount: -1 }) as Table;

/** A valid object of each kind. */
export class Manifests {
  readonly #bases: Readonly<Record<string, Base>>;

  private constructor(bases: Readonly<Record<string, Base>>) {
    this.#bases = bases;
  }

  static async of({ manifests }: Table): Promise<Manifests> {
    const { request } = await signingRequest({ subject: subjectOf('carol') });
    return new Manifests(JSON.parse(JSON.stringify(manifests).replace('"REQUEST"', JSON.stringify(base64(request)))) as typeof manifests);
  }

  get kinds(): string[] {
    return Object.keys(this.#bases);
  }

  /** Creates the object of each kind, which updates then change. */
  async createAll(client: ApiClient): Promise<void> {
    for (const kind of this.kinds) await client.create(this.#collection(kind), this.#manifest(kind));
  }

  async deleteAll(client: ApiClient): Promise<void> {
    for (const kind of this.kinds.toReversed()) await client.delete(this.#path(kind));
  }

  /** Sends the mistake with `dryRun`. */
  async send(client: ApiClient, { kind, change, verb, fieldValidation }: WrongManifest): Promise<Answer> {
    const query = { dryRun: 'All', fieldValidation };
    if (verb === 'create') return client.post(this.#collection(kind), changed(this.#manifest(kind, 'created'), change), query);
    const path = this.#path(kind);
    if (verb === 'update') return client.put(path, changed((await client.read(path)) as object, change), query);
    const patch = verb === 'json' ? operations(change) : changed(verb === 'apply' ? this.#identity(kind) : {}, change);
    const subresource = verb === 'status' || verb === 'scale' ? `/${verb}` : '';
    const mediaType = { json: 'json-patch+json', strategic: 'strategic-merge-patch+json', apply: 'apply-patch+yaml' }[verb as string];
    return client.send('PATCH', path + subresource, {
      query: { ...query, ...(verb === 'apply' && { fieldManager: 'test', force: true }) },
      headers: { 'content-type': `application/${mediaType ?? 'merge-patch+json'}` },
      body: patch,
    });
  }

  #base(kind: string): Base {
    const base = this.#bases[kind];
    if (base === undefined) throw new Error(`the table has no manifest of ${kind}`);
    return base;
  }

  #collection(kind: string): string {
    const { path } = this.#base(kind);
    if (path.startsWith('/')) return path;
    const at = path.lastIndexOf('/');
    const group = path.slice(0, at);
    return `${group === 'core' ? '/api/v1' : `/apis/${group}`}/namespaces/${namespace}${path.slice(at)}`;
  }

  #name(kind: string, name = 'stored'): string {
    return this.#base(kind).name ?? name;
  }

  #path(kind: string): string {
    return `${this.#collection(kind)}/${this.#name(kind)}`;
  }

  #identity(kind: string, name?: string): object {
    const [, group = '', version = 'v1'] = /^(?:\/api\/|\/apis\/([^/]+)\/)([^/]+)/.exec(this.#collection(kind)) ?? [];
    return { apiVersion: group ? `${group}/${version}` : version, kind, metadata: { name: this.#name(kind, name) } };
  }

  #manifest(kind: string, name?: string): object {
    const { object } = this.#base(kind);
    return { ...this.#identity(kind, name), ...structuredClone(object) };
  }
}

/** Returns the object that a member holds, made if it is missing. */
function memberOf(parent: Record<string, unknown>, name: string): Record<string, unknown> {
  parent[name] ??= {};
  return parent[name] as Record<string, unknown>;
}

/** Returns the object with the change. */
function changed(object: object, change: Change): object {
  const result = structuredClone(object);
  for (const [path, value] of Object.entries(change)) {
    const steps = path.split('.');
    const last = steps.pop() as string;
    const parent = steps.reduce(memberOf, result as Record<string, unknown>);
    if (value === null) delete parent[last];
    else parent[last] = structuredClone(value);
  }
  return result;
}

const operations = (change: Change) =>
  Object.entries(change).map(([path, value]) => ({ op: 'add', path: `/${path.replaceAll('.', '/')}`, value }));
