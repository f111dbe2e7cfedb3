/**
 * The forms in which objects go out: whole, as a Table for kubectl, or as their metadata.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
import { StatusError } from '@atrium/objects/status.ts';
import type { ListResult } from './list.ts';
import type { KubernetesObject, StoredObject } from './objects.ts';
import { apiVersionOf, listKindOf, type ResourceType } from './resources.ts';

export type View = 'Object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

const views: ReadonlySet<string> = new Set<View>(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']);
const isView = (text: string): text is View => views.has(text);
const metaVersion = 'meta.k8s.io/v1';

/** Protobuf is answered in JSON: clients that ask for it read the Content-Type. */
const served = new Set(['*/*', 'application/*', 'application/json', 'application/vnd.kubernetes.protobuf']);

const notAcceptable = () => new StatusError(406, 'NotAcceptable', 'only the following media types are accepted: application/json');

/** @throws StatusError 406 */
export function negotiateView(accept: string | undefined, { isList }: { isList: boolean }): View {
  const clauses = (accept?.trim() || '*/*').split(',').map((clause) => {
    const [mediaType = '', ...parameters] = clause.split(';').map((part) => part.trim());
    return { mediaType: mediaType.toLowerCase(), parameters: new Map(parameters.map((text) => parameter(text))) };
  });
  for (const { mediaType, parameters } of clauses) {
    if (!served.has(mediaType) || parameters.get('q') === '0') continue;
    const as = parameters.get('as');
    if (!as) return 'Object';
    if (parameters.get('g') !== 'meta.k8s.io' || parameters.get('v') !== 'v1') continue;
    const isFitting = as === 'Table' || as === (isList ? 'PartialObjectMetadataList' : 'PartialObjectMetadata');
    if (isView(as) && isFitting) return as;
  }
  throw notAcceptable();
}

function parameter(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

export interface RenderOptions {
  view: View;
  type: ResourceType;
  now: Date;
  /** The parameter `includeObject` of Tables. */
  includeObject?: string | null;
}

export function renderObject(object: StoredObject, options: RenderOptions): unknown {
  const { metadata } = object;
  if (options.view === 'Table') return table([object], { resourceVersion: metadata.resourceVersion }, options);
  return options.view === 'Object' ? object : partialMetadata(object);
}

export function renderList({ items, metadata }: ListResult, options: RenderOptions): unknown {
  const { view, type } = options;
  if (view === 'Table') return table(items, metadata, options);
  if (view === 'Object') return { kind: listKindOf(type), apiVersion: apiVersionOf(type), metadata, items: listItems(items, type) };
  return { kind: 'PartialObjectMetadataList', apiVersion: metaVersion, metadata, items: items.map(partialMetadata) };
}

/** Built-in kinds stand without their kind in a list, as the list tells it. */
const listItems = (items: readonly StoredObject[], { isCustom }: ResourceType) =>
  isCustom ? items : items.map(({ apiVersion: _version, kind: _kind, ...item }) => item);

const partialMetadata = ({ metadata }: KubernetesObject) => ({ kind: 'PartialObjectMetadata', apiVersion: metaVersion, metadata });

/** Watches send the column definitions with the first row only. */
export function table(items: readonly KubernetesObject[], metadata: object, options: RenderOptions & { hasColumns?: boolean }): unknown {
  const { type, now, includeObject, hasColumns = true } = options;
  const columnDefinitions = type.columns.map(({ name, type: columnType, format = '', description = '', priority }) => ({
    name,
    type: columnType,
    format,
    description,
    priority,
  }));
  const included = (object: KubernetesObject) => {
    if (includeObject === 'None') return {};
    return { object: includeObject === 'Object' ? object : partialMetadata(object) };
  };
  return {
    kind: 'Table',
    apiVersion: metaVersion,
    metadata,
    columnDefinitions: hasColumns ? columnDefinitions : null,
    rows: items.map((object) => ({ cells: type.columns.map(({ cell }) => cell(object, now) ?? null), ...included(object) })),
  };
}
