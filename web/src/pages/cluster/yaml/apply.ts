/** Several documents of one text: a dry run of all, then each in the order of the text. */
import { apiPath, type Kind } from '../../../api/kinds';
import { type ClusterObject, getJson, write } from '../../../api/objects';
import { asProblem, Problem } from '../../../api/problem';
import { t } from '../../../text/text';
import { isUnchanged } from './unchanged';

export type Outcome = 'waits' | 'created' | 'changed' | 'unchanged' | 'failed' | 'skipped';

export interface Step {
  object: ClusterObject;
  kind: Kind;
  path: string;
  outcome: Outcome;
  /** The dry run found it in the cluster. */
  isThere: boolean;
  problem?: Problem;
}

/** @throws Problem that names the document that is no object, or of no kind of the cluster */
export function stepsOf(values: readonly unknown[], kinds: readonly Kind[], namespace: string | undefined): Step[] {
  return values.map((value, index) => {
    const object = value as Partial<ClusterObject> | null;
    const { apiVersion, kind: kindName, metadata } = object ?? {};
    const kind = kinds.find((one) => versionOf(one) === apiVersion && one.kind === kindName && one.verbs.includes('create'));
    if (!kind)
      throw new Problem(0, { message: t('cluster.documentKind', { number: index + 1, kind: `${apiVersion ?? ''} ${kindName ?? ''}` }) });
    if (typeof metadata?.name !== 'string' || metadata.name === '')
      throw new Problem(0, { message: t('cluster.documentName', { number: index + 1 }) });
    const place = kind.isNamespaced ? { namespace: metadata.namespace ?? namespace ?? 'default' } : {};
    return { object: object as ClusterObject, kind, path: apiPath(kind, place), outcome: 'waits', isThere: false };
  });
}

const versionOf = ({ group, version }: Kind): string => (group ? `${group}/${version}` : version);

interface RunOptions {
  isDryRun: boolean;
  /** An abort skips the steps that are left. */
  signal: AbortSignal;
}

/** Sends one document: creates the object, or replaces the one of its name in the version that was read. */
async function send(step: Step, { isDryRun, signal }: RunOptions): Promise<Pick<Step, 'outcome' | 'isThere'>> {
  const query = `?${isDryRun ? 'dryRun=All&' : ''}fieldValidation=Strict`;
  const { name } = step.object.metadata;
  const path = `${step.path}/${encodeURIComponent(name)}`;
  const current = await currentOf(path, name);
  signal.throwIfAborted();
  if (current === undefined) {
    await write(step.path + query, { method: 'POST', body: step.object });
    return { outcome: 'created', isThere: false };
  }
  const { resourceVersion, uid } = current.metadata;
  // A patch keeps members that the text does not name, as kubectl apply does.
  const metadata = { ...step.object.metadata, resourceVersion, ...(uid && { uid }) };
  const body = { ...step.object, metadata };
  const answer = await write<ClusterObject>(path + query, { method: 'PATCH', body, contentType: 'application/merge-patch+json' });
  return { outcome: isUnchanged(current, answer) ? 'unchanged' : 'changed', isThere: true };
}

async function currentOf(path: string, name: string): Promise<ClusterObject | undefined> {
  try {
    return await getJson<ClusterObject>(path);
  } catch (error) {
    if (asProblem(error).isGone(name)) return undefined;
    throw error;
  }
}

/** A dry run does not know a namespace that an earlier document creates. */
function isCreatedBefore(step: Step, problem: Problem, earlier: readonly Step[]): boolean {
  const namespace = /\/namespaces\/([^/]+)\//.exec(step.path)?.[1];
  const creates = earlier.some(({ kind, object }) => kind.kind === 'Namespace' && kind.group === '' && object.metadata.name === namespace);
  return namespace !== undefined && problem.isGone(namespace) && creates;
}

/**
 * Runs the steps in order and reports each.
 *
 * @returns the steps with their outcomes; outside of a dry run the first failure skips the rest, unless it is to continue
 */
export async function runSteps(
  steps: readonly Step[],
  { isContinued, onStep, ...options }: RunOptions & { isContinued: boolean; onStep: (steps: readonly Step[]) => void },
): Promise<readonly Step[]> {
  let done: readonly Step[] = steps;
  for (const [index, step] of steps.entries()) {
    const isFailed = !options.isDryRun && !isContinued && done.some(({ outcome }) => outcome === 'failed');
    const isStopped = options.signal.aborted || isFailed;
    const result = isStopped ? { outcome: 'skipped' as const } : await attempt(step, options, steps.slice(0, index));
    done = done.map((one, at) => (at === index ? { ...step, ...result } : one));
    onStep(done);
  }
  return done;
}

async function attempt(step: Step, options: RunOptions, earlier: readonly Step[]): Promise<Partial<Step>> {
  try {
    return await send(step, options);
  } catch (error) {
    const problem = asProblem(error);
    return options.isDryRun && isCreatedBefore(step, problem, earlier) ? { outcome: 'created' } : { outcome: 'failed', problem };
  }
}
