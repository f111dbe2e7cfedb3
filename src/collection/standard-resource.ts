/**
 * Operations that all resources have in common: list, get, create, patch, delete, and deletion of many. A resource declares its schemas,
 * rules and words once.
 */
import type { Caller } from '@atrium/http/caller.ts';
import { sendJson } from '@atrium/http/json-answers.ts';
import { type AnswerDescription, compressed, longRunning, type Operation, operation } from '@atrium/http/operation.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { bulkAnswers, bulkBody, bulkDescription, bulkQuery, bulkResult, type Deleted, type Deleter } from '@atrium/lists/bulk-delete.ts';
import type { Collection } from '@atrium/lists/collection.ts';
import { answerList } from '@atrium/lists/lister.ts';
import {
  isLive,
  type LiveLists,
  liveAnswerDescription,
  liveDescription,
  liveParameters,
  visibleLiveDescription,
} from '@atrium/lists/live-list-answer.ts';
import { listAnswer, listQuery, listSchema } from '@atrium/lists/schema.ts';
import { answerVisible } from '@atrium/lists/visible-rows.ts';
import { rightCheck } from '@atrium/lists/while-allowed.ts';
import { describedPatch, jsonPatchType, mergePatchTypes, patchTypes } from '@atrium/objects/json-patch.ts';
import { notFound, passwordDue, type StatusError } from '@atrium/objects/status.ts';
import { deleteOptions, deletionOf, dryRun, warningHeaders, writeQuery } from '@atrium/objects/write-options.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { type AuditGrant, auditForbidden, auditOrigin } from '../audit/audit.ts';
import { hasCredential, keptText } from '../audit/kept-content.ts';
import type { Services } from '../services.ts';
import type { AuditTarget, Deletion, ServedRow, StandardResource, Words } from './resource-declaration.ts';
import { servedObject } from './standard-row.ts';
import { type Patched, type PatchRequest, StandardWrites, type Written } from './standard-writes.ts';

type NamedDeletion = { name: string } & ReturnType<typeof deletionOf>;

interface DeletedTarget extends GrantBefore {
  target: AuditTarget;
  warnings: readonly string[] | undefined;
}

const json = 'application/json';
const versionHeader = { ETag: 'The resource version.' };

/** Role that an object gave before it was deleted, for the audit trail. */
interface GrantBefore {
  grant?: AuditGrant;
}

/** Returns a deleter that tells the role that an object gave: nothing has it once the object is gone. */
const tellingGrants = <Row>(
  deleter: Deleter,
  rowOf: (name: string) => Row | undefined,
  grantOf: (row: Row) => AuditGrant,
): Deleter<Deleted & GrantBefore> => ({
  async delete(deletion, caller, signal) {
    const row = rowOf(deletion.name);
    const grant = row && grantOf(row);
    return { ...(await deleter.delete(deletion, caller, signal)), ...(grant && { grant }) };
  },
  settled: async (signal) => deleter.settled?.(signal),
});

/** Creates the operations of a resource. @param live undefined if its lists are not followed */
export function standardOperations<Row extends ServedRow, New, Patch extends Patched>(
  services: Services,
  collection: Collection<Row>,
  resource: StandardResource<Row, New, Patch>,
  live: LiveLists<Row> | undefined,
): Operation[] {
  const standard = new StandardOperations(services, collection, resource);
  return [
    standard.list(live),
    ...(resource.get ? [standard.get(resource.get)] : []),
    ...(resource.create ? [standard.create(resource.create)] : []),
    ...(resource.patch ? [standard.patch(resource.patch)] : []),
    ...(resource.delete ? [standard.delete(resource.delete)] : []),
    ...(resource.delete && resource.deleteMany ? [standard.deleteMany(resource.deleteMany, resource.delete)] : []),
  ];
}

class StandardOperations<Row extends ServedRow, New, Patch extends Patched> {
  readonly #services: Services;
  readonly #collection: Collection<Row>;
  readonly #resource: StandardResource<Row, New, Patch>;
  readonly #writes: StandardWrites<New, Patch>;
  readonly #deleter: Deleter<Deleted & GrantBefore>;
  readonly #params: z.ZodObject<Record<string, z.ZodType<string>>>;
  readonly #object: AnswerDescription;
  readonly #hidden: AnswerDescription;
  readonly #absent: AnswerDescription;

  constructor(services: Services, collection: Collection<Row>, resource: StandardResource<Row, New, Patch>) {
    this.#services = services;
    this.#collection = collection;
    this.#resource = resource;
    const { kind, name, nameParameter = 'name', nouns, schema, strategy } = resource;
    this.#writes = new StandardWrites(services, collection.cache, kind, strategy);
    const deleter = resource.deleter ?? this.#writes;
    const { grantOf } = resource.delete ?? {};
    this.#deleter = grantOf === undefined ? deleter : tellingGrants(deleter, (name) => collection.cache.get(name), grantOf);
    this.#params = z.object({ [nameParameter]: name });
    this.#object = { description: `The ${nouns.one}.`, content: { [json]: schema }, headers: versionHeader };
    this.#hidden = { description: `RBAC denies it, also if the ${nouns.one} does not exist.` };
    this.#absent = { description: `The ${nouns.one} does not exist.` };
  }

  list(live: LiveLists<Row> | undefined): Operation {
    const { kind, ids, nouns, path, listPath = path, tag, schema, properties, list: visible, isUncompressed } = this.#resource;
    const { access } = this.#services;
    const { lister } = this.#collection;
    const list = { access, right: Object.freeze({ ...kind.type, verb: 'list' }), lister };
    const query = listQuery(properties).extend(visible?.parameters?.shape ?? {});
    const description = [
      ...(visible?.description === undefined ? [] : [visible.description]),
      ...(live ? [visible ? visibleLiveDescription : liveDescription(nouns.many)] : []),
    ].join(' ');
    const apiVersion = `${kind.type.group}/${kind.type.version}`;
    const answer = listAnswer(this.#resource.listSchema ?? listSchema(schema, { apiVersion, kind: `${kind.kind}List` }));
    return operation({
      id: `List${ids.many}`,
      method: 'GET',
      paths: [listPath],
      tag,
      summary: visible?.summary ?? `Lists ${nouns.many}, filtered, sorted and in pages${live ? ', or watches them' : ''}`,
      ...(description !== '' && { description }),
      credential: 'required',
      before: [...(isUncompressed ? [] : [compressed]), longRunning((ctx) => live !== undefined && isLive(ctx))],
      query: live ? query.extend(liveParameters) : query,
      // Clients send these parameters whether or not the feature is on, and accept a list.
      ignoredQuery: Object.keys(liveParameters),
      answers: {
        200: live && !visible ? { ...answer, description: liveAnswerDescription } : answer,
        ...(!visible && { 403: { description: 'RBAC denies it.' } }),
        410: { description: '`continue` is older than an hour.' },
        ...visible?.answers,
      },
      handle(request) {
        if (visible) return answerVisible({ access, lister, live, select: visible.select }, request);
        const { ctx, caller, query, signal } = request;
        if (!live || !isLive(ctx)) return answerList(list, request);
        const check = rightCheck(access, { ...kind.type, verb: 'watch' }, caller.identity.name);
        return live.answer(ctx, query, { caller, check, signal });
      },
    });
  }

  get({ find, ...words }: NonNullable<StandardResource<Row, New, Patch>['get']>): Operation {
    const { ids, nouns, tag } = this.#resource;
    // Callers who see a part of an object cannot change it, and need no version.
    const seen = {
      200: { ...this.#object, headers: {} },
      404: { description: `The ${nouns.one} does not exist, or the caller may not see it.` },
    };
    return operation({
      ...this.#words(words, find ? seen : { 200: this.#object, 403: this.#hidden, 404: this.#absent }),
      id: `Get${ids.one}`,
      method: 'GET',
      paths: [this.#path],
      tag,
      credential: 'required',
      params: this.#params,
      handle: async ({ ctx, caller, params, signal }) => {
        const name = this.#nameIn(params);
        if (find) return sendJson(ctx, (await find(name, { caller, signal })).text);
        await this.#requireGet(caller, name, signal);
        const { text, resourceVersion } = await this.#collection.get(name, signal);
        ctx.set({ ETag: `"${resourceVersion}"`, 'Cache-Control': 'private, no-cache' });
        sendJson(ctx, text);
      },
    });
  }

  create({ audit, grantOf, ...words }: NonNullable<StandardResource<Row, New, Patch>['create']>): Operation {
    const { ids, nouns, path, tag, strategy } = this.#resource;
    return operation({
      ...this.#words(words, {
        201: { ...this.#object, headers: { Location: `Path of the ${nouns.one}.`, ...versionHeader } },
        403: { description: 'RBAC denies it.' },
        409: { description: `A ${nouns.one} of this name exists.` },
        422: { description: 'The object is invalid. Causes name every violation.' },
      }),
      id: `Create${ids.one}`,
      method: 'POST',
      paths: [path],
      tag,
      credential: 'required',
      query: writeQuery,
      body: z.unknown(),
      described: { body: { [json]: strategy?.newBody ?? z.unknown() } },
      handle: async ({ ctx, caller, query, body, signal }) => {
        const isDryRun = query.dryRun !== undefined;
        const written = await this.#writes.create({ body, isDryRun, fieldValidation: query.fieldValidation }, caller, signal);
        const { metadata } = written.object;
        if (!isDryRun)
          this.#services.audit.recordWrite(ctx, caller, {
            ...{ audit, target: metadata, code: 201 },
            ...(grantOf && { grant: grantOf(written.object) }),
            body: () => this.#keptText(written.asked),
            hasCredential: () => hasCredential(body),
          });
        ctx.status = 201;
        ctx.set('Location', `${this.#services.basePath}${path}/${metadata.name}`);
        this.#send(ctx, written);
      },
    });
  }

  patch({ audit, example, keepSession, ...words }: NonNullable<StandardResource<Row, New, Patch>['patch']>): Operation {
    const { ids, tag, strategy } = this.#resource;
    return operation({
      ...this.#words(words, {
        200: this.#object,
        403: this.#hidden,
        404: this.#absent,
        409: { description: 'The version differs from the expected one.' },
        422: { description: 'The object is invalid. Causes name every violation.' },
      }),
      id: `Patch${ids.one}`,
      method: 'PATCH',
      paths: [this.#path],
      tag,
      credential: 'required',
      params: this.#params,
      query: writeQuery,
      bodyTypes: patchTypes,
      body: z.unknown(),
      described: {
        headers: { 'If-Match': 'ETag of the expected version. Another version is a conflict.' },
        body: describedPatch(strategy?.patch?.body ?? z.unknown(), [example]),
      },
      handle: async ({ ctx, caller, params, query, body, signal }) => {
        const request: PatchRequest = {
          name: this.#nameIn(params),
          body,
          isJsonPatch: ctx.is(jsonPatchType) !== false,
          ifMatch: ctx.get('If-Match') || undefined,
          isDryRun: query.dryRun !== undefined,
          fieldValidation: query.fieldValidation,
          get origin() {
            return auditOrigin(ctx);
          },
          onWritten: (target, written = audit) =>
            this.#services.audit.recordWrite(ctx, caller, {
              ...{ audit: written, target, code: 200, hasCredential: () => hasCredential(body) },
              ...(written === audit && { body: () => this.#keptText(request.asked), patchType: mergePatchTypes[0] }),
            }),
        };
        const written = await this.#writes.patch(request, caller, signal);
        if (written.endsSession) await keepSession?.(ctx, caller, signal);
        this.#send(ctx, written);
      },
    });
  }

  delete({ audit, own, ...words }: Deletion<Row>): Operation {
    const { ids, tag } = this.#resource;
    return operation({
      ...this.#words(words, {
        204: { description: 'Gone.' },
        403: this.#hidden,
        404: this.#absent,
        409: { description: 'The object does not match the preconditions.' },
      }),
      id: `Delete${ids.one}`,
      method: 'DELETE',
      paths: [this.#path],
      tag,
      credential: 'required',
      params: this.#params,
      query: z.object({ dryRun }),
      body: deleteOptions,
      handle: async ({ ctx, caller, params, query, body, signal }) => {
        const deletion = { name: this.#nameIn(params), ...deletionOf(query, body) };
        const deleted = await (own ? this.#deleteOwnable(own, deletion, caller, signal) : this.#delete(deletion, caller, signal));
        const { target, grant, warnings = [] } = deleted;
        if (!deletion.isDryRun) {
          this.#services.audit.recordWrite(ctx, caller, { audit, target, code: 204, ...(grant && { grant }) });
          await this.#deleter.settled?.(signal);
        }
        if (warnings.length > 0) ctx.set('Warning', warningHeaders(warnings));
        ctx.status = 204;
      },
    });
  }

  deleteMany(
    { summary, resultKind, atOnce }: NonNullable<StandardResource<Row, New, Patch>['deleteMany']>,
    { audit }: Deletion<Row>,
  ): Operation {
    const { ids, path, tag } = this.#resource;
    const bulkDeleter = this.#collection.bulkDeleter({
      deleter: this.#deleter,
      uidOf: ({ uid }) => uid,
      ...(atOnce !== undefined && { atOnce }),
    });
    return operation({
      id: `Delete${ids.many}`,
      method: 'DELETE',
      paths: [path],
      tag,
      summary,
      description: bulkDescription,
      credential: 'required',
      before: [compressed],
      query: bulkQuery,
      body: bulkBody,
      answers: bulkAnswers(resultKind),
      handle: async (request) => {
        const { ctx, caller } = request;
        const onDeleted = ({ grant, ...target }: AuditTarget & GrantBefore) =>
          this.#services.audit.recordWrite(ctx, caller, { audit, target, code: 204, ...(grant && { grant }) });
        const onRefused = (error: StatusError) => auditForbidden(this.#services.audit)(ctx, caller, error);
        ctx.body = bulkResult(resultKind, await bulkDeleter.requested(request, { onDeleted, onRefused }));
      },
    });
  }

  async #delete(deletion: NamedDeletion, caller: Caller, signal: AbortSignal): Promise<DeletedTarget> {
    const { uid, warnings, grant } = await this.#deleter.delete({ ...deletion, asCaller: true }, caller, signal);
    return { target: { name: deletion.name, uid }, warnings, ...(grant && { grant }) };
  }

  /** @throws StatusError 403 whether or not the object exists, 404, 409, 503, 504 */
  async #deleteOwnable(
    { isOwn, ownerOf }: NonNullable<Deletion<Row>['own']>,
    deletion: NamedDeletion,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<DeletedTarget> {
    const { cache, lister } = this.#collection;
    const { name, preconditions } = deletion;
    await lister.whenReady(signal);
    const isOwned = (row: Row | undefined) => row !== undefined && isOwn(row, caller);
    const asCaller = !isOwned(cache.get(name));
    if (asCaller) await this.#writes.require(caller, 'delete', name, signal);
    const row = cache.get(name);
    if (row === undefined) throw notFound(this.#resource.kind.type, name);
    // A later object of the name may belong to another user.
    const ofRow = { ...deletion, preconditions: { ...preconditions, uid: preconditions.uid ?? row.uid }, asCaller };
    const { warnings } = await this.#deleter.delete(ofRow, caller, signal);
    return { target: ownerOf(row), warnings };
  }

  get #path(): `${string}/:${string}` {
    const { path, nameParameter = 'name' } = this.#resource;
    return `${path}/:${nameParameter}`;
  }

  #keptText(body: unknown): string | undefined {
    return keptText(this.#resource.kind.type, body);
  }

  #nameIn(params: Record<string, string>): string {
    return params[this.#resource.nameParameter ?? 'name'] ?? '';
  }

  #words({ summary, description, answers, openToPasswordDue }: Words, standard: Record<number, AnswerDescription>) {
    return {
      summary,
      ...(description !== undefined && { description }),
      ...(openToPasswordDue && { openToPasswordDue }),
      answers: { ...standard, ...answers },
    };
  }

  /** Requires the right to get an object, unless it is the caller's own. @throws StatusError 403 whether or not it exists, 503 */
  async #requireGet(caller: Caller, name: string, signal: AbortSignal): Promise<void> {
    const { isOwn } = this.#resource;
    if (isOwn !== undefined) {
      await this.#collection.lister.whenReady(signal);
      if (isOwn(this.#collection.cache.get(name), caller)) return;
    }
    if (caller.mustChangePassword) throw passwordDue();
    await this.#writes.require(caller, 'get', name, signal);
  }

  #send(ctx: Context, { object, warnings }: Written): void {
    if (warnings.length > 0) ctx.set('Warning', warningHeaders(warnings));
    ctx.set('ETag', `"${object.metadata.resourceVersion}"`);
    const { kind, textOf = (served: KubernetesObject) => JSON.stringify(servedObject(kind, served)) } = this.#resource;
    sendJson(ctx, textOf(object));
  }
}
