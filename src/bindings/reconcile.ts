import type { ServiceClient } from '../kubernetes/api-server.ts';
import { changedStatus } from '../kubernetes/object-status.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { ServiceResource } from '../kubernetes/resource-client.ts';
import { seenWithinMs } from '../kubernetes/until.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { Owner, Subject } from './made-binding.ts';
import type { MadeBindings, Outcome } from './made-bindings.ts';
import type { Places } from './places.ts';
import { bindingFinalizer, userBindingKind } from './resource.ts';
import { storedBinding, type UserBindingRow } from './row.ts';
import { boundBefore, type Result, statusOf } from './status.ts';
import { boundSubjects, type Known } from './subjects.ts';

/** Writes under way for one UserBinding. */
const atOnce = 4;

export interface ReconcilerOptions {
  client: ServiceClient;
  bindings: Pick<WatchCache<UserBindingRow>, 'get' | 'waitFor'>;
  made: MadeBindings;
  known: Known;
  placesOf: (row: UserBindingRow) => Places;
  /** Whether the ClusterRole exists, as far as that is known. */
  hasRole: (name: string) => boolean;
  now: () => Date;
}

type Kept = Result['kept'];

/** Makes the RBAC of a UserBinding what it is to be, and says on the UserBinding what came of it. */
export class Reconciler {
  readonly #options: ReconcilerOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /**
   * Writes nothing where everything is as it is to be.
   *
   * @returns 'again' for what no watch tells of
   * @throws StatusError 503, 504; Error for what has changed under way
   */
  async reconcile(name: string, signal: AbortSignal): Promise<'done' | 'again'> {
    const row = this.#options.bindings.get(name);
    const object = storedBinding(row);
    // What was made for one that is gone the API server removes itself, as it was its owner.
    if (row === undefined || object === undefined) return 'done';
    if (row.isDeleted) return this.#finish(row, object, signal);
    const held = row.finalizers.includes(bindingFinalizer)
      ? object
      : unchanged(await this.#patch(object, { metadata: { finalizers: [...row.finalizers, bindingFinalizer] } }, signal));
    return this.#keep(row, held, signal);
  }

  async #keep(row: UserBindingRow, object: KubernetesObject, signal: AbortSignal): Promise<'done' | 'again'> {
    const { made, known, placesOf, hasRole, now } = this.#options;
    const owner = ownerOf(row);
    const subjects = boundSubjects(row.subjects, boundBefore(object), known);
    const { places, missing } = placesOf(row);
    const wanted = subjects.subjects.length > 0 ? places : [];
    for (const place of made.placesOf(owner)) if (!wanted.includes(place)) await made.remove(owner, place, signal);
    const { kept, gone, problem } = await this.#keepEach(owner, wanted, subjects.subjects, signal);
    const result: Result = {
      subjects,
      hasRole: hasRole(row.roleRef),
      missing: [...new Set([...missing, ...gone])],
      places: places.length,
      kept,
      problem,
    };
    await this.#tell(object, result, now(), signal);
    return problem === undefined && result.hasRole && gone.length === 0 ? 'done' : 'again';
  }

  async #keepEach(owner: Owner, places: readonly string[], subjects: readonly Subject[], signal: AbortSignal) {
    const kept: Kept = { clusterRoleBindings: 0, roleBindings: 0 };
    const gone: string[] = [];
    let problem: Result['problem'];
    let next = 0;
    const worker = async () => {
      for (let index = next++; index < places.length; index = next++) {
        const place = places[index] ?? '';
        const outcome = await this.#options.made.keep(owner, place, subjects, signal);
        if (outcome === 'kept') kept[place === '' ? 'clusterRoleBindings' : 'roleBindings'] += 1;
        else if (outcome === 'no-namespace') gone.push(place);
        else problem ??= problemOf(outcome, owner, place);
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, places.length) }, worker));
    return { kept, gone, problem };
  }

  /** The RBAC first, so that no role comes from a UserBinding that is gone. */
  async #finish(row: UserBindingRow, object: KubernetesObject, signal: AbortSignal): Promise<'done'> {
    if (!row.finalizers.includes(bindingFinalizer)) return 'done';
    const { made } = this.#options;
    const owner = ownerOf(row);
    for (const place of made.placesOf(owner)) await made.remove(owner, place, signal);
    const finalizers = row.finalizers.filter((finalizer) => finalizer !== bindingFinalizer);
    const written = await this.#patch(object, { metadata: { finalizers } }, signal);
    if (written !== 'gone') unchanged(written);
    return 'done';
  }

  async #tell(object: KubernetesObject, result: Result, now: Date, signal: AbortSignal): Promise<void> {
    const status = changedStatus(object.status, statusOf(object, result, now));
    if (status === undefined) return;
    const written = unchanged(await this.#patch(object, { status }, signal));
    // So that the next look does not go by the status of before.
    await this.#options.bindings.waitFor(written.metadata.resourceVersion, seenWithinMs, signal);
  }

  /** Only if it was not changed since it was read. */
  #patch(
    { metadata: { name, resourceVersion } }: KubernetesObject,
    { metadata, ...parts }: { metadata?: object; status?: object },
    signal: AbortSignal,
  ): Promise<KubernetesObject | 'conflict' | 'gone'> {
    const change = { metadata: { resourceVersion, ...metadata }, ...parts };
    const resource = new ServiceResource(this.#options.client, userBindingKind);
    return parts.status ? resource.patchStatus(name, change, { signal }) : resource.patch(name, change, { signal });
  }
}

/** @throws Error for what has changed under way */
function unchanged(written: KubernetesObject | 'conflict' | 'gone'): KubernetesObject {
  if (written === 'conflict' || written === 'gone') throw new Error('the UserBinding was changed meanwhile');
  return written;
}

const ownerOf = ({ name, uid, roleRef }: UserBindingRow): Owner => ({ name, uid, roleRef });

function problemOf(outcome: Exclude<Outcome, 'kept' | 'no-namespace'>, { roleRef }: Owner, place: string): Result['problem'] {
  const where = place === '' ? '' : ` in the namespace ${place}`;
  if (outcome === 'taken')
    return { reason: 'NameTaken', message: `a binding${where} has the name of the one to be made, and was not made for this UserBinding` };
  if (outcome === 'not-allowed')
    return {
      reason: 'NotAllowedToBind',
      message: `the service may not bind the ClusterRole ${roleRef}: see rbac.userBindings of the chart`,
    };
  return { reason: 'Refused', message: `the API server refuses the binding${where}: ${outcome.refused}` };
}
