import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '@atrium/http/caller.ts';
import { badInput } from '@atrium/http/input.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { CallerResource, type NewObject } from '@atrium/kubernetes/resource-client.ts';
import { jsonPatchType, mergePatchTypes } from '@atrium/objects/json-patch.ts';
import { type Members, membersOf, numberOf } from '@atrium/objects/members.ts';
import { appliedAnnotation, visible, withoutCopies } from '@atrium/objects/shown-object.ts';
import { entityTooLarge, qualified, StatusError } from '@atrium/objects/status.ts';
import type { WrittenBody } from '../audit/audit.ts';
import { keptText } from '../audit/kept-content.ts';
import { mayTell, type Told, toldBy } from '../audit/written-action.ts';
import type { Services } from '../services.ts';
import { sensitiveWriteOf } from '../step-up/sensitive-writes.ts';
import type { Change, Proposed } from './schema.ts';

/** Characters of a proposed body as JSON: a person has to read it. */
const maxBody = 16 * 1024;
/** Characters of an object as JSON, so that its escapes and its comparison are cheap. */
const maxObject = 128 * 1024;
/** Depth of a value in a body, and of the path of a JSON Patch. */
const maxDepth = 24;

type Write = Pick<Proposed, 'verb' | 'object' | 'body'>;

/** Groups whose objects are questions, logins, or records of this service. */
const closedGroups = ['auth.platform.io', 'authentication.k8s.io', 'authorization.k8s.io'];

/** Refuses writes of Secrets, and those that make a credential or a right. @throws StatusError 403, cause `NotProposable` */
export function requireProposable({ object: { apiGroup: group, resource } }: Write): void {
  const isSecret = group === '' && resource === 'secrets';
  const isSensitive = sensitiveWriteOf('POST', { group, resource, subresource: '' }) !== undefined;
  if (!isSecret && !isSensitive && !closedGroups.includes(group)) return;
  const message = `an agent cannot propose changes of ${qualified({ group, resource })}: the user makes them`;
  throw new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'NotProposable', message }] } });
}

/** Refuses bodies whose effect no comparison shows. @throws StatusError 400, 413 */
export function requireReadable({ body, verb }: Write): void {
  if (body === undefined) return;
  if (JSON.stringify(body).length > maxBody) throw entityTooLarge(`a proposal has at most ${maxBody} characters of JSON`);
  if (!isWithin(body, maxDepth)) throw refused(verb, 'is nested too deeply');
  if (Array.isArray(body) ? body.some(hidesFields) : 'managedFields' in membersOf(membersOf(body).metadata))
    throw refused(verb, 'must not change managedFields, the whole metadata or the whole object');
}

const refused = (verb: Write['verb'], detail: string): StatusError =>
  badInput([
    {
      ...{ reason: 'FieldValueForbidden', detail, field: verb === 'create' ? 'object' : 'patch', path: [] },
      ...{ value: undefined, isUnknown: false, supported: [], maximum: Number.NaN },
    },
  ]);

const isWithin = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' || value === null || (depth > 0 && Object.values(value).every((member) => isWithin(member, depth - 1)));

/** Reports whether an operation of a JSON Patch reaches members that comparisons leave out, or may reach them. */
const hidesFields = (operation: unknown): boolean =>
  [membersOf(operation).path, membersOf(operation).from].some(
    (path) =>
      typeof path === 'string' && (/^(?:\/metadata)?$|^\/metadata\/managedFields(?:\/|$)/.test(path) || path.split('/').length > maxDepth),
  );

/** Writes to one object with the credential of a person. */
export class ProposedWrite {
  readonly #resource: CallerResource;
  readonly #write: Write;

  constructor({ apiServer }: Pick<Services, 'apiServer'>, caller: Caller, write: Write) {
    const { apiGroup: group, version, resource, kind, namespace } = write.object;
    const type = { group, version, resource };
    this.#resource = new CallerResource(apiServer.asCaller(caller), { type, kind, ...(namespace !== undefined && { namespace }) });
    this.#write = write;
  }

  /**
   * Returns the effect of the write on the object as it is now, by a dry run.
   *
   * @throws UpstreamError in the words of the API server; StatusError 413, 503, 504
   */
  async change(signal: AbortSignal): Promise<Change> {
    const { verb, object } = this.#write;
    if (verb === 'create') return { after: shown(await this.#create(signal, true)) };
    const before = await this.#resource.get(object.name, signal);
    const { resourceVersion } = before.metadata;
    if (verb === 'delete') {
      await this.#delete(resourceVersion, signal, true);
      return { before: shown(before), resourceVersion };
    }
    const after = await this.#patch(resourceVersion, signal, true);
    const isCopyChanged = !isDeepStrictEqual(copyOf(before), copyOf(after));
    return { before: shown(before, isCopyChanged), after: shown(after, isCopyChanged), resourceVersion };
  }

  /**
   * Writes, if the object still has the version.
   *
   * @throws UpstreamError in the words of the API server, 409 for another version; StatusError 503, 504
   */
  async apply(resourceVersion: string | undefined, signal: AbortSignal): Promise<void> {
    const { verb } = this.#write;
    if (verb === 'create') await this.#create(signal, false);
    else if (verb === 'delete') await this.#delete(resourceVersion, signal, false);
    else await this.#patch(resourceVersion, signal, false);
  }

  /** Returns what the body tells about the write, for its event. @throws like `change` */
  async told(signal: AbortSignal): Promise<Told> {
    const { verb, object, body } = this.#write;
    const { apiGroup: group, version, resource, namespace = '', name } = object;
    const about = { verb, group, version, resource, subresource: '', namespace, name };
    const told = mayTell(about) ? toldBy(about, this.#patchType, body) : {};
    if (told.action !== 'scale') return told;
    const { replicas } = membersOf((await this.#resource.get(name, signal)).spec);
    return { ...told, changes: (told.changes ?? []).map((change) => ({ ...change, from: numberOf(replicas) })) };
  }

  /** Body for the event of the write. */
  get kept(): WrittenBody {
    const { verb, object, body } = this.#write;
    if (body === undefined) return {};
    const content = verb === 'create' ? this.#created : body;
    return {
      body: () => keptText({ group: object.apiGroup, resource: object.resource }, content),
      ...(verb === 'patch' && { patchType: this.#patchType }),
    };
  }

  get #patchType(): string {
    return Array.isArray(this.#write.body) ? jsonPatchType : mergePatchTypes[0];
  }

  #create(signal: AbortSignal, isDryRun: boolean): Promise<KubernetesObject> {
    return this.#resource.create(this.#created, { isDryRun, isStrict: true, signal });
  }

  get #created(): NewObject {
    const { body, object } = this.#write;
    const { apiGroup, version, kind, name, namespace } = object;
    const given = membersOf(body);
    const metadata = { ...membersOf(given.metadata), name, ...(namespace !== undefined && { namespace }) };
    const apiVersion = apiGroup === '' ? version : `${apiGroup}/${version}`;
    return { ...given, apiVersion, kind, metadata };
  }

  #patch(resourceVersion: string | undefined, signal: AbortSignal, isDryRun: boolean): Promise<KubernetesObject> {
    const { body, object } = this.#write;
    return this.#resource.patch(object.name, atVersion(body, resourceVersion), { isDryRun, signal });
  }

  async #delete(resourceVersion: string | undefined, signal: AbortSignal, isDryRun: boolean): Promise<void> {
    const options = { preconditions: { resourceVersion }, propagationPolicy: 'Background' as const, isDryRun, signal };
    await this.#resource.delete(this.#write.object.name, options);
  }
}

/** Returns a patch that the API server refuses for another version (409). */
function atVersion(body: Write['body'], resourceVersion: string | undefined): object {
  if (Array.isArray(body)) return [...body, { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion }];
  return { ...body, metadata: { ...membersOf(membersOf(body).metadata), resourceVersion } };
}

const copyOf = (object: KubernetesObject): unknown => membersOf(object.metadata.annotations)[appliedAnnotation];

/** Returns an object for a comparison. @param isCopyShown keeps the copy of the object for kubectl, which the write changes */
function shown(object: KubernetesObject, isCopyShown = false): Members {
  const listed = membersOf(withoutCopies(object));
  if (JSON.stringify(listed).length > maxObject)
    throw entityTooLarge(`the object has more than ${maxObject} characters of JSON: the user changes it without a proposal`);
  return membersOf(visible(isCopyShown ? { ...listed, [appliedAnnotation]: copyOf(object) } : listed));
}
