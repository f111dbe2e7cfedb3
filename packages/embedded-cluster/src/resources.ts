/**
 * Served resources: the built-in ones, and those that CustomResourceDefinitions add at run time. Types that name each other stand here, so
 * that no files import each other.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FieldError } from '@atrium/objects/field-error.ts';
import type { GroupResource } from '@atrium/objects/status.ts';
import type { WebSocket } from 'ws';
import type { JsonObject, KubernetesObject, StoredObject } from './objects.ts';
import type { AccessAttributes, Rbac } from './rbac.ts';
import type { RequestInfo } from './request-info.ts';
import type { CompiledSchema } from './schema.ts';
import type { Store } from './store.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';
import type { TokenIssuer, UserInfo } from './tokens.ts';

/** Column of `kubectl get`. A `priority` above 0 limits it to `-o wide`. */
export interface Column {
  name: string;
  type: string;
  format?: string;
  description?: string;
  priority: number;
  cell(object: KubernetesObject, now: Date): unknown;
}

/** Write request, for the rules of a kind. */
export interface WriteRequest {
  user: UserInfo;
  subresource: string | undefined;
  now: Date;
  may(access: AccessAttributes): boolean;
}

/** State that every verb works on. */
export interface Backend {
  store: Store;
  registry: ResourceRegistry;
  rbac: Rbac;
  tokens: TokenIssuer;
  authenticator: TokenAuthenticator;
  now: () => Date;
}

/** Place of an existing or a new object. */
export interface Target {
  type: ResourceType;
  namespace?: string | undefined;
  name: string;
}

/** Request and its answer. */
export interface Exchange {
  backend: Backend;
  request: IncomingMessage;
  response: ServerResponse;
  info: RequestInfo;
  user: UserInfo;
}

/** Request for a WebSocket. */
export interface Upgrade extends Pick<Exchange, 'backend' | 'info' | 'user'> {
  /** Accepts the first of these protocols that the client offers. @throws StatusError 400 if it offers others only */
  accept(protocols: readonly string[]): Promise<WebSocket>;
}

/** Subresource with an answer of its own. */
export interface SubresourceAnswer {
  /** Kind in discovery, with its group and version. */
  kind: string;
  group: string;
  version: string;
  verbs: readonly string[];
  /** @throws StatusError */
  answer(exchange: Exchange, target: Target): Promise<void>;
  /** Answers a request to upgrade to a WebSocket. @throws StatusError before the upgrade */
  stream?(upgrade: Upgrade, target: Target): Promise<void>;
}

export interface ResourceType extends GroupResource {
  version: string;
  kind: string;
  singular: string;
  shortNames: readonly string[];
  categories: readonly string[];
  namespaced: boolean;
  /** Defined by a CustomResourceDefinition. */
  isCustom: boolean;
  hasStatus: boolean;
  /** Subresources beside `status`: parts of the object that are written separately, by rules of `prepare`. */
  subresources: readonly string[];
  /** Subresources that change a single member of the spec, with the name of the member. */
  specParts?: Readonly<Record<string, string>>;
  answers?: Readonly<Record<string, SubresourceAnswer>>;
  /** Returns the objects of a resource that is not stored, of one namespace or all. Such objects are read and never written. */
  computed?(backend: Backend, namespace?: string): StoredObject[];
  /** True if a deletion waits for its grace period, and for a second deletion that ends the object. */
  isGraceful?: boolean;
  /** True if changes outside of metadata and status increment `metadata.generation`. */
  hasGeneration: boolean;
  /** True if an update may omit the resource version, and so overwrite any version. */
  allowsUnconditionalUpdate: boolean;
  /** True if PUT creates a missing object. */
  allowsCreateOnUpdate: boolean;
  schema: CompiledSchema;
  openAPISchema: JsonObject;
  columns: readonly Column[];
  /** Dotted paths, in addition to metadata.name and metadata.namespace. */
  selectableFields: readonly string[];
  verbs: readonly string[];
  nameProblems(name: string): string[];
  /** Adds the fields that upstream adds before validation; may change `object`, never `old`. */
  prepare?(object: KubernetesObject, old: StoredObject | undefined, request: WriteRequest): void;
  validate?(object: KubernetesObject, old: StoredObject | undefined, request: WriteRequest): FieldError[];
  /** Refuses writes like upstream's admission. @throws StatusError 403 */
  admit?(object: StoredObject, old: StoredObject | undefined, request: WriteRequest): void;
}

export const storedVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;

export const collectionOf = ({ group, resource }: GroupResource) => `${group}/${resource}`;
export const apiVersionOf = ({ group, version }: { group: string; version: string }) => (group ? `${group}/${version}` : version);
export const listKindOf = ({ kind }: { kind: string }) => `${kind}List`;

/** Served resources by group and plural, with one version each. */
export class ResourceRegistry {
  readonly #types = new Map<string, ResourceType>();

  constructor(types: readonly ResourceType[]) {
    for (const type of types) this.set(type);
  }

  set(type: ResourceType): void {
    this.#types.set(collectionOf(type), type);
  }

  remove(target: GroupResource): void {
    this.#types.delete(collectionOf(target));
  }

  get(target: GroupResource): ResourceType | undefined {
    return this.#types.get(collectionOf(target));
  }

  find(apiVersion: string, kind: string): ResourceType | undefined {
    return this.all().find((type) => type.kind === kind && apiVersionOf(type) === apiVersion);
  }

  all(): ResourceType[] {
    return [...this.#types.values()];
  }
}
