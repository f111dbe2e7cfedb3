import { useSignal } from '@preact/signals';
import { ArrowDownToLine, Download, RotateCw } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { call } from '../../../api/client';
import { asProblem, type Problem } from '../../../api/problem';
import { query, setQuery } from '../../../app/router';
import { count, type Key, t } from '../../../text/text';
import { Button } from '../../../ui/button';
import { CheckField } from '../../../ui/form';
import { saveAs } from '../../../ui/save-as';
import { SearchField } from '../../../ui/search';
import { Notice } from '../../../ui/state';
import { AsKubectl } from '../as-kubectl';
import { LogLines } from './log-lines';
import { tailLines } from './log-stream';
import { type LogRange, LogStreams, type LogTarget } from './log-streams';

interface LogViewProps {
  label: string;
  fileName: string;
  targets: readonly LogTarget[];
  /** Lines of several containers, each with its name. */
  isMany?: boolean;
  /** Targets whose lines are shown; undefined for all. */
  isShown?: ((id: string) => boolean) | undefined;
  hasPrevious: boolean;
  filters: ComponentChildren;
  /** The command that follows the same. */
  commandOf: (range: LogRange & { hasTimes: boolean }) => string;
}

const isOn = (name: string): boolean => query.value.get(name) === 'true';
/** Ages of the oldest line that a user chooses from, in seconds. */
const ages = { '5m': 300, '1h': 3600, '24h': 86_400 } as const;
const isAge = (text: string): text is keyof typeof ages => Object.hasOwn(ages, text);

function chosenRange(hasPrevious: boolean): LogRange {
  const age = query.value.get('since') ?? '';
  return { isPrevious: hasPrevious && isOn('previous'), sinceSeconds: isAge(age) ? ages[age] : undefined };
}

const toggled = (name: string) => (is: boolean) => setQuery({ [name]: is ? 'true' : '' });

/** Lines of one container or of many, with search, looks and download. */
export function LogView(props: LogViewProps) {
  const { label, hasPrevious, filters, commandOf } = props;
  const isWrapped = query.value.get('wrap') !== 'no';
  const { place, lines, streams, problem, readAgain, download } = useLogs(props);
  const failure = problem.value ?? streams.value?.problem.value;
  return (
    <>
      <search class="filters">
        {filters}
        <SearchField label={t('cluster.searchLog')} isPrompt />
        <LogAge />
        {hasPrevious && <CheckField label={t('cluster.previous')} isChecked={isOn('previous')} onChange={toggled('previous')} />}
        <CheckField label={t('cluster.wrap')} isChecked={isWrapped} onChange={(is) => setQuery({ wrap: is ? '' : 'no' })} />
        <CheckField label={t('cluster.logTimes')} isChecked={isOn('times')} onChange={toggled('times')} />
        <CheckField label={t('cluster.logJson')} isChecked={isOn('json')} onChange={toggled('json')} />
        <Button icon={Download} onClick={() => void download()}>
          {t('cluster.download')}
        </Button>
      </search>
      {failure && <Notice>{failure.message}</Notice>}
      <section
        ref={place}
        class={`log ${isWrapped ? 'wrapped' : ''}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1)
        tabIndex={0}
        aria-label={t('cluster.logOf', { name: label })}
      />
      <LogFooter lines={lines.value} state={streams.value?.state.value} onAgain={readAgain} />
      <AsKubectl command={commandOf({ ...chosenRange(hasPrevious), hasTimes: isOn('times') })} />
    </>
  );
}

function useLogs({ targets, isMany = false, isShown, hasPrevious, fileName }: LogViewProps) {
  const { isPrevious, sinceSeconds } = chosenRange(hasPrevious);
  const place = useRef<HTMLElement>(null);
  const [lines, streams] = [useSignal<LogLines | undefined>(undefined), useSignal<LogStreams | undefined>(undefined)];
  const [problem, attempt] = [useSignal<Problem | undefined>(undefined), useSignal(0)];
  useEffect(() => {
    const host = place.current;
    if (host === null) return;
    const shown = new LogLines(host, isMany);
    const read = new LogStreams(shown, { isPrevious, sinceSeconds });
    lines.value = shown;
    streams.value = read;
    problem.value = undefined;
    return () => {
      read.stop();
      shown.stop();
    };
  }, [isPrevious, sinceSeconds, attempt.value]);
  useEffect(() => streams.value?.follow(targets), [streams.value, targets.map(({ id, run }) => `${id} ${run}`).join()]);
  const words = query.value.get('q') ?? '';
  const indexes = [...(streams.value?.indexes.value ?? [])];
  const sources = isShown && indexes.filter(([id]) => isShown(id)).map(([, index]) => index);
  const look = { words, hasTimes: isOn('times'), isJsonOpen: isOn('json'), sources: sources && new Set(sources) };
  useEffect(() => lines.value?.show(look), [lines.value, words, look.hasTimes, look.isJsonOpen, sources?.join()]);

  /** The whole log of one container comes from the API server; of many, the lines of the page. */
  async function download(): Promise<void> {
    const [target] = targets;
    try {
      if (isMany || target === undefined) return saveAs(fileName, new Blob([lines.value?.text ?? '']));
      const asked = new URLSearchParams({
        ...(target.container && { container: target.container }),
        ...(isPrevious && { previous: 'true' }),
        ...(sinceSeconds && { sinceSeconds: String(sinceSeconds) }),
      });
      saveAs(fileName, await (await call(`${target.path}?${asked}`)).blob());
    } catch (error) {
      problem.value = asProblem(error);
    }
  }
  const readAgain = () => {
    attempt.value += 1;
  };
  return { place, lines, streams, problem, readAgain, download };
}

const LogAge = () => (
  <label>
    <span class="hidden">{t('log.since')}</span>
    <select value={query.value.get('since') ?? ''} onChange={({ currentTarget }) => setQuery({ since: currentTarget.value })}>
      <option value="">{t('log.newest', { shown: count(tailLines) })}</option>
      {(Object.keys(ages) as (keyof typeof ages)[]).map((age) => (
        <option key={age} value={age}>
          {t(`log.last${age}`)}
        </option>
      ))}
    </select>
  </label>
);

interface LogFooterProps {
  lines: LogLines | undefined;
  state: LogStreams['state']['value'] | undefined;
  onAgain: () => void;
}

const stateTexts: Readonly<Record<string, Key>> = { over: 'cluster.logEnded', lost: 'cluster.logLost' };

function LogFooter({ lines, state = 'read', onAgain }: LogFooterProps) {
  const [total, matches] = [lines?.count.value ?? 0, lines?.matches.value];
  const stateText = stateTexts[state];
  return (
    <footer class="bar">
      <p class="muted" role="status">
        {matches === undefined
          ? t('cluster.lines', { count: total, shown: count(total) })
          : t('cluster.matches', { count: matches, shown: count(matches) })}
        {stateText && ` ${t(stateText)}`}
      </p>
      {state === 'over' && (
        <Button kind="quiet" icon={RotateCw} onClick={onAgain}>
          {t('cluster.again')}
        </Button>
      )}
      {lines?.isAtEnd.value === false && (
        <Button kind="quiet" icon={ArrowDownToLine} onClick={() => lines.toEnd()}>
          {t('cluster.toEnd')}
        </Button>
      )}
    </footer>
  );
}
