/**
 * Field managers: which client has set which fields, and the conflicts of server-side apply. Fields are tracked from the first write that
 * names its manager; kubectl, Helm and client libraries of controllers do.
 *
 * @see https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
import { StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { changed, type Fields, fieldsOf, fieldsV1, fieldText, pathsOf } from './field-set.ts';
import { type KubernetesObject, type StoredObject, timestamp } from './objects.ts';
import { apiVersionOf, type ResourceType } from './resources.ts';

export interface FieldManager {
  name: string;
  /** True if the request names it; otherwise it is the program of the User-Agent. */
  isNamed: boolean;
}

const entrySchema = z.looseObject({
  manager: z.string(),
  operation: z.enum(['Apply', 'Update']),
  apiVersion: z.string(),
  time: z.string().optional(),
  subresource: z.string().optional(),
  fieldsType: z.literal('FieldsV1'),
  fieldsV1: z.unknown(),
});

/** Fields of a manager. */
interface Entry {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  time: string | undefined;
  subresource: string | undefined;
  paths: ReadonlySet<string>;
}

function entriesOf({ metadata }: Pick<KubernetesObject, 'metadata'>): Entry[] {
  return (metadata.managedFields ?? []).flatMap((given) => {
    const { data } = entrySchema.safeParse(given);
    if (data === undefined) return [];
    const { manager, operation, apiVersion, time, subresource } = data;
    return [{ manager, operation, apiVersion, time, subresource, paths: new Set(pathsOf(data.fieldsV1)) }];
  });
}

const asManagedField = ({ manager, operation, apiVersion, time, subresource, paths }: Entry) => ({
  ...{ manager, operation, apiVersion },
  ...(time !== undefined && { time }),
  ...{ fieldsType: 'FieldsV1', fieldsV1: fieldsV1(paths) },
  ...(subresource !== undefined && { subresource }),
});

interface Write {
  type: ResourceType;
  /** Undefined for the cluster itself. */
  manager: FieldManager | undefined;
  subresource?: string | undefined;
  now: Date;
  /** Fields of a server-side apply. */
  applied?: Fields | undefined;
}

/**
 * Sets the managers of an object that is about to be stored.
 *
 * @param given managers in the body of an update, which a client may correct
 */
export function manageFields(object: StoredObject, old: StoredObject | undefined, given: KubernetesObject, write: Write): void {
  const { type, manager, subresource, now, applied } = write;
  const known = old === undefined ? [] : entriesOf(old);
  const corrected = old === undefined ? [] : entriesOf(given);
  delete object.metadata.managedFields;
  if (known.length === 0 && !manager?.isNamed) return;
  const before = old === undefined ? new Map() : fieldsOf(type, old, subresource);
  const after = fieldsOf(type, object, subresource);
  const operation = applied === undefined ? 'Update' : 'Apply';
  const isOwn = sameAs({ manager: manager?.name, operation, subresource });
  const entries = corrected.length > 0 ? corrected : known;
  const own = entries.find(isOwn);
  const moved = applied === undefined ? changed(before, after) : changed(before, applied);
  const lost = (path: string) => moved.has(path) || (before.has(path) && !after.has(path));
  const others = entries
    .filter((entry) => !isOwn(entry))
    .map((entry) => ({ ...entry, paths: filtered(entry.paths, (path) => !lost(path)) }));
  const mine = applied === undefined ? [...filtered(own?.paths ?? [], (path) => after.has(path)), ...moved.keys()] : [...applied.keys()];
  const paths = new Set(filtered(mine, (path) => after.has(path)));
  const isSame = own !== undefined && own.paths.size === paths.size && [...own.paths].every((path) => paths.has(path));
  const entry: Entry = isSame
    ? own
    : { manager: manager?.name ?? 'unknown', operation, apiVersion: apiVersionOf(type), time: timestamp(now), subresource, paths };
  const all = own === undefined ? [...others, entry] : entries.map((one) => (isOwn(one) ? entry : (others.find(sameAs(one)) ?? one)));
  const kept = all.filter((one) => one.paths.size > 0);
  if (kept.length > 0) object.metadata.managedFields = kept.map(asManagedField);
}

/** Identity of an entry. An unnamed manager is that of no entry. */
type EntryKey = { [Member in 'manager' | 'operation' | 'subresource']: Entry[Member] | undefined };

const sameAs =
  ({ manager, operation, subresource }: EntryKey) =>
  (entry: Entry): boolean =>
    entry.manager === manager && entry.operation === operation && entry.subresource === subresource;

const filtered = (paths: Iterable<string>, test: (path: string) => boolean): Set<string> => new Set([...paths].filter(test));

interface Applied {
  type: ResourceType;
  manager: string;
  subresource: string | undefined;
  fields: Fields;
}

/** Refuses values other than those that another manager has set. @throws StatusError 409 */
export function refuseConflicts(current: StoredObject, { type, manager, subresource, fields }: Applied): void {
  const differing = changed(fieldsOf(type, current, subresource), fields);
  const others = entriesOf(current).filter((entry) => entry.manager !== manager || entry.operation !== 'Apply');
  const conflicts = others.flatMap((entry) =>
    [...differing.keys()].filter((path) => entry.paths.has(path)).map((path) => ({ by: managerText(entry), field: fieldText(path) })),
  );
  if (conflicts.length === 0) return;
  const causes = conflicts.map(({ by, field }) => ({ reason: 'FieldManagerConflict', message: `conflict with ${by}`, field }));
  const listed = conflicts.map(({ by, field }) => `conflict with ${by}: ${field}`).join('\n');
  const count = conflicts.length === 1 ? '1 conflict' : `${conflicts.length} conflicts`;
  throw new StatusError(409, 'Conflict', `Apply failed with ${count}: ${listed}`, { details: { causes } });
}

function managerText({ manager, operation, apiVersion, time, subresource }: Entry): string {
  const text = JSON.stringify(manager) + (subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`);
  if (operation === 'Apply') return text;
  return `${text} using ${apiVersion}${time === undefined ? '' : ` at ${time}`}`;
}

/** Returns the fields that the manager applied before, does not apply now, and shares with no other manager. */
export function abandoned(current: StoredObject, { manager, subresource, fields }: Omit<Applied, 'type'>): Set<string> {
  const isOwn = sameAs({ manager, operation: 'Apply', subresource });
  const entries = entriesOf(current);
  const others = new Set(entries.filter((entry) => !isOwn(entry)).flatMap(({ paths }) => [...paths]));
  const own = entries.find(isOwn)?.paths ?? new Set<string>();
  const isShared = (path: string) => others.has(path) || (path.endsWith('"."]') && [...others].some((other) => isWithin(other, path)));
  const gone = filtered(own, (path) => !fields.has(path) && !isShared(path));
  // An item that stays keeps its keys.
  return filtered(gone, (path) => !isKeyOfKept(path, gone));
}

const isWithin = (path: string, item: string): boolean => path.startsWith(item.slice(0, -'"."]'.length));

function isKeyOfKept(path: string, gone: ReadonlySet<string>): boolean {
  const steps = JSON.parse(path) as string[];
  const [item = '', field = ''] = steps.slice(-2);
  if (!item.startsWith('k:') || !field.startsWith('f:')) return false;
  return Object.hasOwn(JSON.parse(item.slice(2)) as object, field.slice(2)) && !gone.has(JSON.stringify([...steps.slice(0, -1), '.']));
}
