/** Requests of the editor: a dry run comes first; then the same request is sent for real. */
import { useSignal } from '@preact/signals';
import { InexactNumber } from '../../../api/json';
import { apiPath, type Kind } from '../../../api/kinds';
import { type ClusterObject, getJson, write } from '../../../api/objects';
import { asProblem, Problem } from '../../../api/problem';
import { setGuard } from '../../../app/router';
import type { Refusal } from '../../../editors/marks';
import { t } from '../../../text/text';
import { useUnmountSignal } from '../../../ui/unmount-signal';
import { runSteps, type Step, stepsOf } from './apply';
import { LoneMask, unmasked } from './masks';
import { comparedText, type Yaml } from './object-text';
import { refusalsOf } from './refusals';

export interface EditTarget {
  kind: Kind;
  /** Object as it was read. Undefined for a new one. */
  object?: ClusterObject;
  namespace: string | undefined;
  /** With the kinds of the cluster, several documents can be applied. */
  kinds?: readonly Kind[];
  /** The values of a Secret stay hidden. */
  isMasked?: boolean;
  yaml: Yaml;
}

/** Request that was tried, and the object before and after it. */
export interface Review {
  sent: ClusterObject;
  before: string;
  after: string;
}

export function useEdit(target: EditTarget, text: string, onDone: (object: ClusterObject) => void) {
  const { kind, object, namespace, kinds } = target;
  const [typed, isBusy] = [useSignal(text), useSignal(false)];
  const problem = useSignal<Problem | undefined>(undefined);
  const review = useSignal<Review | undefined>(undefined);
  const several = useSignal<readonly Step[] | undefined>(undefined);
  const refusals = useSignal<readonly Refusal[]>([]);
  /** Object with the changes that another client has made meanwhile. */
  const other = useSignal<ClusterObject | undefined>(undefined);
  const base = other.value ?? object;
  const signal = useUnmountSignal();

  async function attempt(work: () => Promise<void>): Promise<void> {
    if (isBusy.value) return;
    isBusy.value = true;
    problem.value = undefined;
    refusals.value = [];
    try {
      await work();
    } catch (error) {
      problem.value = problemIn(error);
      refusals.value = refusalsOf(problem.value);
      if (problem.value.status === 409 && object !== undefined) await showOther();
    } finally {
      isBusy.value = false;
    }
  }

  async function compare(): Promise<void> {
    const values = target.yaml.parse(typed.value);
    if (kinds !== undefined && values.length > 1) {
      const steps = stepsOf(values, kinds, namespace);
      several.value = await runSteps(steps, { isDryRun: true, signal, isContinued: true, onStep: () => undefined });
      refusals.value = several.value.flatMap((step, index) => (step.problem ? refusalsOf(step.problem, index) : []));
      return;
    }
    const sent = toSend(onlyObject(values), base, target.isMasked);
    const answer = await send(target, sent, true);
    review.value = { sent, before: base ? comparedText(target, base) : '', after: comparedText(target, answer, base) };
  }

  async function showOther(): Promise<void> {
    review.value = undefined;
    other.value = await getJson<ClusterObject>(apiPath(kind, { namespace, name: object?.metadata.name }));
  }

  async function save(sent: ClusterObject): Promise<void> {
    const saved = await send(target, sent, false);
    // After the page is left, the guard is that of another one.
    if (!signal.aborted) setGuard(undefined);
    onDone(saved);
  }

  return {
    ...{ typed, isBusy, problem, review, several, refusals, other },
    compare: () => void attempt(compare),
    save: (sent: ClusterObject) => void attempt(() => save(sent)),
  };
}

export type Editing = ReturnType<typeof useEdit>;

function send({ kind, object, namespace }: EditTarget, sent: ClusterObject, isDryRun: boolean): Promise<ClusterObject> {
  const query = `?${isDryRun ? 'dryRun=All&' : ''}fieldValidation=Strict`;
  const place = { namespace: sent.metadata.namespace ?? namespace };
  return object === undefined
    ? write(apiPath(kind, kind.isNamespaced ? place : {}) + query, { method: 'POST', body: sent })
    : write(apiPath(kind, { namespace, name: object.metadata.name }) + query, { method: 'PUT', body: sent });
}

/** Adds metadata that is not shown: as it was read, or as another client has changed it since. */
function toSend(given: ClusterObject, base: ClusterObject | undefined, isMasked = false): ClusterObject {
  if (base === undefined) return given;
  const sent = isMasked ? unmasked(given, base) : given;
  const { resourceVersion, uid } = base.metadata;
  sent.metadata = { ...sent.metadata, resourceVersion, ...(uid && { uid }) };
  return sent;
}

function problemIn(error: unknown): Problem {
  if (error instanceof InexactNumber) return new Problem(0, { message: t('cluster.inexact', { member: error.member }) });
  return error instanceof LoneMask ? new Problem(0, { message: t('cluster.loneMask', { key: error.key }) }) : asProblem(error);
}

/** @throws Problem if it is not one object */
function onlyObject([value, ...others]: readonly unknown[]): ClusterObject {
  if (others.length > 0) throw new Problem(0, { message: t('cluster.severalObjects', { count: others.length + 1 }) });
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Problem(0, { message: t('cluster.notObject') });
  const { metadata } = value as Partial<ClusterObject>;
  if (typeof metadata !== 'object' || metadata === null) throw new Problem(0, { message: t('cluster.notObject') });
  return value as ClusterObject;
}
