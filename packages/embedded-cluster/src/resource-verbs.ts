/** Verbs on resources. */
import type { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { notSupported } from '@atrium/objects/field-error.ts';
import { badRequest, invalid, notFound, notImplemented } from '@atrium/objects/status.ts';
import { createWebSocketStream, type WebSocket } from 'ws';
import { applyObject } from './apply.ts';
import { getObject, type WriteContext } from './backend.ts';
import { deleteObject, deleteOptions, deletionAnswer } from './delete.ts';
import { addWarning, bodyBytes, bodyObject, methodRefused, pathUnknown, requiredObject, sendJson, verbRefused } from './exchange.ts';
import { listObjects, reached } from './list.ts';
import { revisionOf } from './list-options.ts';
import type { FieldManager } from './managed-fields.ts';
import type { KubernetesObject, StoredObject } from './objects.ts';
import { isApply, patchedObject } from './patch.ts';
import { negotiateView, renderList, renderObject } from './representation.ts';
import { pathSegmentProblems } from './request-info.ts';
import type { Exchange, Target } from './resources.ts';
import { collectionOf, type ResourceType, type Upgrade } from './resources.ts';
import { matcherOf } from './selection.ts';
import { virtualResources } from './virtual-resources.ts';
import { watchObjects } from './watch.ts';
import { decodeBody, storeNew, storeUpdate, updateObject } from './write.ts';

/** Resources of upstream that are not served here: 501 instead of 404. */
const notHere = new Set(['events.k8s.io/events']);

/** Answers a request about a resource, which the caller is authorized to send. */
export async function answerResource(exchange: Exchange): Promise<void> {
  const { backend, info } = exchange;
  const { group = '', version = '', resource = '', namespace, name, subresource } = info;
  if (exchange.request.method === 'HEAD') throw methodRefused();
  const virtual = version === 'v1' && virtualResources.find((one) => one.group === group && one.resource === resource);
  if (virtual) return answerVirtual(exchange, virtual);
  if (notHere.has(`${group}/${resource}`)) throw notImplemented(`${resource}.${group}`);
  const type = backend.registry.get({ group, resource });
  if (!type || type.version !== version || info.hasMore) throw pathUnknown();
  if (!type.namespaced && namespace && type.resource !== 'namespaces') throw pathUnknown();
  if (name) checkSegment('Name', name);
  const place = { type, namespace: type.namespaced ? namespace : undefined };
  if (place.namespace) checkSegment('Namespace', place.namespace);
  if (!type.verbs.includes(info.verb) || (type.namespaced && !namespace && !['list', 'watch'].includes(info.verb))) throw methodRefused();
  if (info.verb === 'list') return list(exchange, place);
  if (info.verb === 'watch') return watch(exchange, place);
  if (info.verb === 'deletecollection') return deleteCollection(exchange, place);
  if (info.verb === 'create' && !name) return create(exchange, place);
  if (!name) throw methodRefused();
  await answerObject(exchange, { ...place, name }, subresource);
}

async function answerObject(exchange: Exchange, target: Target, subresource: string | undefined): Promise<void> {
  const { verb } = exchange.info;
  const { type } = target;
  if (subresource === 'finalize' && type.resource === 'namespaces') throw notImplemented('namespaces/finalize');
  const own = subresource === undefined ? undefined : type.answers?.[subresource];
  if (own) {
    if (!own.verbs.includes(verb)) throw methodRefused();
    return own.answer(exchange, target);
  }
  if (subresource && !hasSubresource(type, subresource)) throw type.isCustom ? notFound(type, target.name) : pathUnknown();
  if (verb === 'get') return get(exchange, target);
  if (verb === 'update') return update(exchange, target, subresource);
  if (verb === 'patch') return patch(exchange, target, subresource);
  if (verb === 'delete' && !subresource) return remove(exchange, target);
  throw type.isCustom ? verbRefused(verb, type) : methodRefused();
}

const hasSubresource = ({ hasStatus, subresources, specParts = {} }: ResourceType, name: string) =>
  name === 'status' ? hasStatus : subresources.includes(name) || Object.hasOwn(specParts, name);

function checkSegment(what: string, name: string): void {
  const problems = pathSegmentProblems(name);
  if (problems.length > 0) throw badRequest(`${what} parameter invalid: ${JSON.stringify(name)}: ${problems.join(';')}`);
}

/** Upgrades to a WebSocket for a watch, or a subresource that streams. @throws StatusError */
export async function streamResource(upgrade: Upgrade): Promise<void> {
  const { backend, info } = upgrade;
  const { group = '', version = '', resource = '', namespace, name, subresource = '' } = info;
  const type = backend.registry.get({ group, resource });
  if (info.verb === 'watch' && type?.version === version && !info.hasMore) {
    const open = async () => messagesOf(await upgrade.accept(['']));
    await watchObjects(backend, open, { type, namespace: type.namespaced ? namespace : undefined, query: info.query, view: 'Object' });
    return;
  }
  const answer = type?.version === version && !info.hasMore ? type.answers?.[subresource] : undefined;
  if (type === undefined || answer?.stream === undefined || !name) throw pathUnknown();
  if (!answer.verbs.includes(info.verb)) throw methodRefused();
  await answer.stream(upgrade, { type, namespace, name });
}

/** Returns a stream that sends each text as a message. */
function messagesOf(socket: WebSocket): Writable {
  const messages = createWebSocketStream(socket, { decodeStrings: false });
  // The client sends nothing but the end.
  messages.on('error', () => messages.destroy()).resume();
  socket.once('close', () => messages.destroy());
  return messages;
}

async function answerVirtual(exchange: Exchange, virtual: (typeof virtualResources)[number]): Promise<void> {
  const { backend, info, user } = exchange;
  if (info.name || info.hasMore || (info.namespace !== undefined && !virtual.isNamespaced)) throw pathUnknown();
  if (info.verb !== 'create' || (virtual.isNamespaced && !info.namespace)) throw methodRefused();
  const body = await requiredObject(exchange, virtual.kind);
  sendJson(exchange, 201, await virtual.create({ backend, user, namespace: info.namespace }, body));
}

export function writeContext(exchange: Exchange, optionsKind: string): WriteContext {
  const { backend, info } = exchange;
  const dryRun = info.query.getAll('dryRun').filter(Boolean);
  const wanted = info.query.get('fieldValidation') || 'Warn';
  const fieldValidation = (['Ignore', 'Strict', 'Warn'] as const).find((one) => one === wanted);
  const errors = dryRun.every((value) => value === 'All') ? [] : [notSupported('dryRun', dryRun, ['All'])];
  if (!fieldValidation) errors.push(notSupported('fieldValidation', wanted, ['', 'Ignore', 'Strict', 'Warn']));
  if (!fieldValidation || errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: optionsKind, name: '' }, errors);
  return { backend, ...askedBy(exchange), isDryRun: dryRun.length > 0, fieldValidation, manager: managerOf(exchange) };
}

/** Without a name in the query, the manager is the program of the User-Agent, as upstream. */
function managerOf({ info, request }: Exchange): FieldManager {
  const name = info.query.get('fieldManager');
  if (name) return { name, isNamed: true };
  return { name: request.headers['user-agent']?.split('/')[0] || 'unknown', isNamed: false };
}

const askedBy = (exchange: Exchange): Pick<WriteContext, 'user' | 'warn'> => ({
  user: exchange.user,
  warn: (text) => addWarning(exchange, text),
});

function sendObject(exchange: Exchange, code: number, type: ResourceType, object: StoredObject): void {
  const { request, info, backend } = exchange;
  const view = negotiateView(request.headers.accept, { isList: false });
  sendJson(exchange, code, renderObject(object, { view, type, now: backend.now(), includeObject: info.query.get('includeObject') }));
}

async function get(exchange: Exchange, target: Target): Promise<void> {
  const { backend, info } = exchange;
  await reached(backend.store, revisionOf(info.query));
  sendObject(exchange, 200, target.type, getObject(backend, target));
}

async function list(exchange: Exchange, place: Omit<Target, 'name'>): Promise<void> {
  const { backend, info, request } = exchange;
  const view = negotiateView(request.headers.accept, { isList: true });
  const result = await listObjects(backend, { ...place, query: info.query });
  sendJson(
    exchange,
    200,
    renderList(result, { view, type: place.type, now: backend.now(), includeObject: info.query.get('includeObject') }),
  );
}

async function watch({ backend, info, request, response }: Exchange, place: Omit<Target, 'name'>): Promise<void> {
  const view = negotiateView(request.headers.accept, { isList: true });
  const open = async () => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
    response.flushHeaders();
    return response;
  };
  await watchObjects(backend, open, { ...place, query: info.query, view });
}

/** Size from which a body is parsed, decoded and stored in turns of their own: 1 MiB takes milliseconds for each. */
const largeBytes = 65_536;

async function decodedBody(exchange: Exchange, context: WriteContext, type: ResourceType): Promise<KubernetesObject> {
  const body = await requiredObject(exchange, type.kind);
  const isLarge = Number(exchange.request.headers['content-length'] ?? largeBytes) >= largeBytes;
  if (isLarge) await turn();
  const object = decodeBody(context, type, body);
  if (isLarge) await turn();
  return object;
}

async function create(exchange: Exchange, place: Omit<Target, 'name'>): Promise<void> {
  const { type } = place;
  negotiateView(exchange.request.headers.accept, { isList: false });
  const context = writeContext(exchange, 'CreateOptions');
  sendObject(exchange, 201, type, storeNew(context, place, await decodedBody(exchange, context, type)));
}

async function update(exchange: Exchange, target: Target, subresource: string | undefined): Promise<void> {
  const { type } = target;
  negotiateView(exchange.request.headers.accept, { isList: false });
  const context = writeContext(exchange, 'UpdateOptions');
  const { object, isCreated } = storeUpdate(context, target, await decodedBody(exchange, context, type), { subresource });
  sendObject(exchange, isCreated ? 201 : 200, type, object);
}

async function patch(exchange: Exchange, target: Target, subresource: string | undefined): Promise<void> {
  const { backend, request } = exchange;
  const { type } = target;
  negotiateView(request.headers.accept, { isList: false });
  const context = writeContext(exchange, 'PatchOptions');
  const text = (await bodyBytes(exchange)).toString();
  if (isApply(request.headers['content-type'])) {
    const isForced = ['', 'true', '1'].includes(exchange.info.query.get('force') ?? 'false');
    const { object, isCreated } = applyObject(context, target, { text, subresource, isForced });
    return sendObject(exchange, isCreated ? 201 : 200, type, object);
  }
  const current = getObject(backend, target);
  const body = patchedObject(type, current, { contentType: request.headers['content-type'] ?? '', text });
  const { object } = updateObject(context, target, body, { subresource, isPatch: true });
  sendObject(exchange, 200, type, object);
}

async function remove(exchange: Exchange, target: Target): Promise<void> {
  const { backend, info } = exchange;
  const options = deleteOptions(info.query, await bodyObject(exchange, 'DeleteOptions'));
  sendJson(exchange, 200, deletionAnswer(target.type, deleteObject(backend, target, options, askedBy(exchange))));
}

async function deleteCollection(exchange: Exchange, place: Omit<Target, 'name'>): Promise<void> {
  const { backend, info } = exchange;
  const { type, namespace } = place;
  const options = deleteOptions(info.query, await bodyObject(exchange, 'DeleteOptions'));
  const { matches } = matcherOf({ ...place, query: info.query });
  const items = (backend.store.list(collectionOf(type), { namespace }) ?? []).filter(matches);
  for (const { metadata } of items) deleteObject(backend, { ...place, name: metadata.name }, options, askedBy(exchange));
  const metadata = { resourceVersion: String(backend.store.revision) };
  sendJson(exchange, 200, renderList({ items, metadata }, { view: 'Object', type, now: backend.now() }));
}
