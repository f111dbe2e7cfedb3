import { useSignal } from '@preact/signals';
import { InexactNumber } from '../../../api/json';
import { apiPath, type Kind } from '../../../api/kinds';
import { type ClusterObject, getJson, write } from '../../../api/objects';
import { fetchSchemas } from '../../../api/openapi';
import { asProblem, Problem } from '../../../api/problem';
import { useGuard } from '../../../app/guard';
import { setGuard } from '../../../app/router';
import type { CompletionOptions } from '../../../editors/completion';
import type { parse, stringify } from '../../../editors/editor';
import { t } from '../../../text/text';
import { Button } from '../../../ui/button';
import { Causes, Notice } from '../../../ui/state';
import { useUnmountSignal } from '../../../ui/unmount-signal';
import { AsKubectl } from '../as-kubectl';
import { kubectl, kubectlFor } from '../kubectl';
import { runSteps, type Step, stepsOf } from './apply';
import { Changes, Code } from './code';
import { LoneMask, mask, masked, unmasked } from './masks';
import { Several } from './several';
import { sortKeys } from './unchanged';

type Yaml = { parse: typeof parse; stringify: typeof stringify };

interface EditProps {
  kind: Kind;
  /** Object as it was read. Undefined for a new one. */
  object?: ClusterObject;
  /** Initial text of the editor. */
  text: string;
  namespace: string | undefined;
  /** With the kinds of the cluster, several documents can be applied. */
  kinds?: readonly Kind[];
  /** The values of a Secret stay hidden. */
  isMasked?: boolean;
  yaml: Yaml;
  onDone: (object: ClusterObject) => void;
  onCancel: () => void;
}

/** Loads schemas of versions that the cluster has: a version that is being typed does not exist yet. */
function completionFor(own: Kind, kinds: readonly Kind[] = [own]): CompletionOptions {
  return {
    type: { apiVersion: own.group ? `${own.group}/${own.version}` : own.version, kind: own.kind },
    async find({ apiVersion, kind }) {
      const [version = '', group = ''] = apiVersion.split('/').reverse();
      const isKnown = kinds.some((one) => one.group === group && one.version === version && one.kind === kind);
      return isKnown ? await fetchSchemas({ group, version, kind }).catch(() => undefined) : undefined;
    },
  };
}

interface Review {
  sent: ClusterObject;
  before: string;
  after: string;
}

/** Edits or creates an object. A dry run comes first, and its answer is shown as the changes; then the same request is sent for real. */
export function Edit({ kind, object, text, namespace, kinds, isMasked = false, yaml, onDone, onCancel }: EditProps) {
  const typed = useSignal(text);
  const problem = useSignal<Problem | undefined>(undefined);
  const isBusy = useSignal(false);
  const review = useSignal<Review | undefined>(undefined);
  const several = useSignal<readonly Step[] | undefined>(undefined);
  /** Object with the changes that another client has made meanwhile. */
  const other = useSignal<ClusterObject | undefined>(undefined);
  const base = other.value ?? object;
  const isChanged = typed.value !== text;
  const signal = useUnmountSignal();
  useGuard(isChanged);

  async function attempt(work: () => Promise<void>): Promise<void> {
    if (isBusy.value) return;
    isBusy.value = true;
    problem.value = undefined;
    try {
      await work();
    } catch (error) {
      problem.value = problemIn(error);
      if (problem.value.status === 409 && object !== undefined) await showOther();
    } finally {
      isBusy.value = false;
    }
  }

  const send = (sent: ClusterObject, isDryRun: boolean): Promise<ClusterObject> => {
    const query = `?${isDryRun ? 'dryRun=All&' : ''}fieldValidation=Strict`;
    const place = { namespace: sent.metadata.namespace ?? namespace };
    return object === undefined
      ? write(apiPath(kind, kind.isNamespaced ? place : {}) + query, { method: 'POST', body: sent })
      : write(apiPath(kind, { namespace, name: object.metadata.name }) + query, { method: 'PUT', body: sent });
  };

  /** @param read object whose values are hidden; without it, all values are */
  const textOf = (shown: ClusterObject, read?: ClusterObject, changed?: () => string): string =>
    yaml.stringify(sortKeys(bare(isMasked ? masked(shown, read, changed) : shown)));

  async function compare(): Promise<void> {
    const values = yaml.parse(typed.value);
    if (kinds !== undefined && values.length > 1) {
      const steps = stepsOf(values, kinds, namespace);
      several.value = await runSteps(steps, { isDryRun: true, signal, isContinued: true, onStep: () => undefined });
      return;
    }
    const given = onlyObject(values);
    const sent = isMasked && base ? unmasked(given, base) : given;
    // Metadata that is not shown: as it was read, or as another client has changed it since.
    if (base !== undefined) {
      const { resourceVersion, uid } = base.metadata;
      sent.metadata = { ...sent.metadata, resourceVersion, ...(uid && { uid }) };
    }
    const answer = await send(sent, true);
    review.value = { sent, before: base ? textOf(base) : '', after: textOf(answer, base) };
  }

  async function showOther(): Promise<void> {
    review.value = undefined;
    other.value = await getJson<ClusterObject>(apiPath(kind, { namespace, name: object?.metadata.name }));
  }

  async function save(sent: ClusterObject): Promise<void> {
    const saved = await send(sent, false);
    // After the page is left, the guard is that of another one.
    if (!signal.aborted) setGuard(undefined);
    onDone(saved);
  }

  const shown = review.value;
  const isSame = shown !== undefined && shown.before === shown.after;
  return (
    <div class="edit">
      {problem.value && (
        <Notice>
          {problem.value.status === 409 && object !== undefined ? t('cluster.conflict') : problem.value.message}
          <Causes of={problem.value} />
        </Notice>
      )}
      {other.value && shown === undefined && object && (
        <Changes
          key={other.value.metadata.resourceVersion}
          label={t('cluster.conflictDiff')}
          before={textOf(object)}
          after={textOf(other.value, object, () => `${mask} *`)}
        />
      )}
      {isMasked && <p class="muted">{t('cluster.maskedWhat')}</p>}
      {shown && <p class="muted">{isSame ? t('cluster.noChange') : t(object ? 'cluster.willChange' : 'cluster.willCreate')}</p>}
      {shown && <Changes label={t('cluster.changes')} before={shown.before} after={shown.after} />}
      <div class={shown || several.value ? 'out-of-sight' : 'edit-code'}>
        <Code
          label={t('cluster.edit', { kind: kind.kind })}
          text={text}
          completion={completionFor(kind, kinds)}
          onChange={(next) => {
            typed.value = next;
          }}
        />
      </div>
      {several.value && (
        <Several
          steps={several.value}
          onEdit={() => {
            several.value = undefined;
          }}
          onLeave={onCancel}
        />
      )}
      <div class={several.value ? 'out-of-sight' : 'buttons'}>
        {shown ? (
          <>
            <Button kind="main" isBusy={isBusy.value} isDisabled={isSame} onClick={() => void attempt(() => save(shown.sent))}>
              {object ? t('cluster.save', { kind: kind.kind }) : t('cluster.create', { kind: kind.kind })}
            </Button>
            <Button
              onClick={() => {
                review.value = undefined;
              }}
            >
              {t('cluster.editOn')}
            </Button>
          </>
        ) : (
          <Button kind="main" isBusy={isBusy.value} onClick={() => void attempt(compare)}>
            {t('cluster.review')}
          </Button>
        )}
        <Button kind="quiet" onClick={onCancel}>
          {t('action.cancel')}
        </Button>
        <AsKubectl command={object ? kubectlFor(['edit'], kind, object.metadata) : kubectl('create', '-f', 'FILE')} />
      </div>
    </div>
  );
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

/** Removes metadata that the API server keeps for itself. */
export function bare({ metadata, ...rest }: ClusterObject): ClusterObject {
  const { managedFields: _, ...shown } = metadata;
  const { apiVersion, kind, ...members } = rest;
  return { apiVersion, kind, metadata: shown, ...members } as ClusterObject;
}
