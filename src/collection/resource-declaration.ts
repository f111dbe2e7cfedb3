/** Declaration of a resource, from which its standard operations are made. */
import type { Caller } from '@atrium/http/caller.ts';
import type { AnswerDescription } from '@atrium/http/operation.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import type { Deleter } from '@atrium/lists/bulk-delete.ts';
import type { LiveRow } from '@atrium/lists/live-list.ts';
import type { ListProperties } from '@atrium/lists/properties.ts';
import type { FindVisible, SelectVisible } from '@atrium/lists/visible-rows.ts';
import type { describedPatch } from '@atrium/objects/json-patch.ts';
import type { Context } from 'koa';
import type { z } from 'zod';
import type { AuditGrant } from '../audit/audit.ts';
import type { WriteAuditName } from '../audit/audit-events.ts';
import type { Patched, Strategy } from './standard-writes.ts';

export interface AuditTarget {
  name: string;
  uid: string;
}

/** Creates a new session for callers whose write has ended their own. */
export type KeepSession = (ctx: Context, caller: Caller, signal: AbortSignal) => Promise<unknown>;

/** Words of an operation that differ from resource to resource. Answers replace or extend the standard ones. */
export interface Words {
  summary: string;
  description?: string;
  answers?: Record<number, AnswerDescription>;
  /** Open to callers who must change their password first, as far as the object is their own. */
  openToPasswordDue?: true;
}

export type ServedRow = LiveRow & { readonly uid: string };

/** Lists that show some rows to callers without the right on all of them. */
interface VisibleLists<Row> extends Words {
  /** Query parameters in addition to those of every list. */
  parameters?: z.ZodObject<Record<never, z.ZodType>>;
  select: SelectVisible<Row>;
}

export interface Deletion<Row> extends Words {
  audit: WriteAuditName;
  /** Objects of the caller, which the service account deletes for callers without the right. Default: there are none. */
  own?: {
    isOwn(row: Row, caller: Caller): boolean;
    /** Returns the User record that owns an object, for the audit trail. */
    ownerOf(row: Row): AuditTarget;
  };
  /** Returns the role that an object gives, for the audit trail. Default: none. */
  grantOf?(row: Row): AuditGrant;
}

export interface StandardResource<Row extends ServedRow, New, Patch extends Patched> {
  kind: ResourceKind;
  /** Path of the list: `/auth/v1/groups`. The path of an object appends `/NAME`. */
  path: string;
  /** Path and schema of the list, if lists of several versions share them. */
  listPath?: string;
  listSchema?: z.ZodType;
  tag: string;
  /** Parts of the operation ids: `Group` of `CreateGroup`, `Groups` of `ListGroups`. */
  ids: { one: string; many: string };
  /** Nouns in the OpenAPI document: `group` and `groups`. */
  nouns: { one: string; many: string };
  /** Schema of a name in a path. */
  name: z.ZodType<string>;
  /** Name of that parameter; default: `name`. */
  nameParameter?: string;
  /** Schema of an object in answers. */
  schema: z.ZodType;
  properties: ListProperties<Row>;
  /** Returns the JSON text of a written object for the answer. Default: the object without `metadata.managedFields`. */
  textOf?(object: KubernetesObject): string;
  /** Undefined for a resource whose objects are neither created nor changed by the standard operations. */
  strategy?: Strategy<New, Patch>;
  /** Deletes objects, if more than the object is deleted. Default: by the strategy. */
  deleter?: Deleter;
  /** Reports whether an object is the caller's own, who needs no right to get it. Default: no object is. */
  isOwn?(row: Row | undefined, caller: Caller): boolean;
  /** True for lists that are never compressed, because their operations stand beside answers with a credential (BREACH). */
  isUncompressed?: true;
  /** Undefined for lists of all objects, for callers with the right to list them. */
  list?: VisibleLists<Row>;
  /** Undefined for a resource whose objects are not read one by one. */
  get?: Words & { find?: FindVisible };
  /** Undefined for a resource whose objects are created by another operation. */
  create?: Words & {
    audit: WriteAuditName;
    /** Returns the role that an object gives, for the audit trail. Default: none. */
    grantOf?(object: KubernetesObject): AuditGrant;
  };
  /** Undefined for a resource whose objects cannot be changed. */
  patch?: Words & { audit: WriteAuditName; example: Parameters<typeof describedPatch>[1][number]; keepSession?: KeepSession };
  /** Undefined for a resource whose objects are deleted by another operation. */
  delete?: Deletion<Row>;
  /** Undefined for a resource whose objects are deleted one by one. */
  deleteMany?: { summary: string; resultKind: string; atOnce?: number };
}
