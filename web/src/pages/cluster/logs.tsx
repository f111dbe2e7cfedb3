import { useSignal } from '@preact/signals';
import { ArrowDownToLine, Download, RotateCw, Search } from 'lucide';
import { useEffect, useRef } from 'preact/hooks';
import { call } from '../../api/client';
import { apiPath, type Kind } from '../../api/kinds';
import type { ClusterObject } from '../../api/objects';
import { asProblem, type Problem } from '../../api/problem';
import { Guarded } from '../../app/guarded';
import { type Right, useRights } from '../../app/rights';
import { query, setQuery } from '../../app/router';
import { count, t } from '../../text/text';
import { Button } from '../../ui/button';
import { CheckField } from '../../ui/form';
import { Icon } from '../../ui/icon';
import { Notice } from '../../ui/state';
import { ContainerChoice, chosenContainer } from './containers';
import { LogLines } from './log-lines';
import { followLog } from './log-stream';
import { saveAs } from './save-as';

interface LogsProps {
  kind: Kind;
  pod: ClusterObject;
}

/** What a container of a pod writes, as it writes it. */
export function Logs({ kind, pod }: LogsProps) {
  const { name, namespace } = pod.metadata;
  const right: Right = { verb: 'get', group: '', resource: 'pods', subresource: 'log', name, ...(namespace && { namespace }) };
  useRights([right]);
  return (
    <Guarded right={right}>
      <LogView kind={kind} pod={pod} />
    </Guarded>
  );
}

function LogView({ kind, pod }: LogsProps) {
  const { name, namespace } = pod.metadata;
  const path = apiPath(kind, { name, namespace, subresource: 'log' });
  const container = chosenContainer(pod);
  const hasPrevious = (container?.restarts ?? 0) > 0;
  const isPrevious = hasPrevious && query.value.get('previous') === 'true';
  const isWrapped = query.value.get('wrap') !== 'no';
  const words = query.value.get('q') ?? '';
  const place = useRef<HTMLElement>(null);
  const lines = useSignal<LogLines | undefined>(undefined);
  const [problem, state, attempt] = [useSignal<Problem | undefined>(undefined), useSignal<'read' | 'lost' | 'over'>('read'), useSignal(0)];
  const asked = { ...(container && { container: container.name }), ...(isPrevious && { previous: 'true' }) };

  useEffect(() => {
    const host = place.current;
    if (host === null) return;
    const shown = new LogLines(host);
    lines.value = shown;
    problem.value = undefined;
    state.value = 'read';
    const stop = followLog({
      path,
      asked: { ...asked, ...(!isPrevious && { follow: 'true' }) },
      onData: (data) => shown.add(data),
      onOpen() {
        state.value = 'read';
      },
      onLost() {
        state.value = 'lost';
        return shown.resume();
      },
      onEnd(found) {
        shown.end();
        state.value = 'over';
        problem.value = found;
      },
    });
    return () => {
      stop();
      shown.stop();
    };
  }, [path, container?.name, isPrevious, attempt.value]);
  useEffect(() => lines.value?.filter(words), [words, lines.value]);

  async function download(): Promise<void> {
    try {
      const answer = await call(`${path}?${new URLSearchParams(asked)}`);
      saveAs(`${name}-${container?.name ?? ''}.log`, await answer.blob());
    } catch (error) {
      problem.value = asProblem(error);
    }
  }

  const [total, matches] = [lines.value?.count.value ?? 0, lines.value?.matches.value];
  return (
    <>
      <search class="filters">
        <ContainerChoice pod={pod} />
        <label class="search">
          <span class="hidden">{t('cluster.searchLog')}</span>
          <Icon of={Search} />
          <input
            type="search"
            data-find
            placeholder={t('cluster.searchLog')}
            spellcheck={false}
            value={words}
            onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
          />
        </label>
        {hasPrevious && (
          <CheckField label={t('cluster.previous')} isChecked={isPrevious} onChange={(is) => setQuery({ previous: is ? 'true' : '' })} />
        )}
        <CheckField label={t('cluster.wrap')} isChecked={isWrapped} onChange={(is) => setQuery({ wrap: is ? '' : 'no' })} />
        <Button icon={Download} onClick={() => void download()}>
          {t('cluster.download')}
        </Button>
      </search>
      {problem.value && <Notice>{problem.value.message}</Notice>}
      <section
        ref={place}
        class={`log ${isWrapped ? 'wrapped' : ''}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1)
        tabIndex={0}
        aria-label={t('cluster.logOf', { name: container?.name })}
      />
      <footer class="bar">
        <p class="muted" role="status">
          {matches === undefined
            ? t('cluster.lines', { count: total, shown: count(total) })
            : t('cluster.matches', { count: matches, shown: count(matches) })}
          {state.value === 'over' && ` ${t('cluster.logEnded')}`}
          {state.value === 'lost' && ` ${t('cluster.logLost')}`}
        </p>
        {state.value === 'over' && (
          <Button kind="quiet" icon={RotateCw} onClick={() => attempt.value++}>
            {t('cluster.again')}
          </Button>
        )}
        {lines.value?.isAtEnd.value === false && (
          <Button kind="quiet" icon={ArrowDownToLine} onClick={() => lines.value?.toEnd()}>
            {t('cluster.toEnd')}
          </Button>
        )}
      </footer>
    </>
  );
}
