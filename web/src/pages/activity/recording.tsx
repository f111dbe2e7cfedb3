/** The recording of a shell: a player, and its text for search and for screen readers. */
import './styles';
import { useComputed, useSignal } from '@preact/signals';
import { Download, Pause, Play } from 'lucide';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { call } from '../../api/client';
import { useLoad } from '../../api/load';
import { href } from '../../app/router';
import { t } from '../../text/text';
import { Ago } from '../../ui/age';
import { Button } from '../../ui/button';
import { Loaded } from '../../ui/loaded';
import { saveAs } from '../../ui/save-as';
import { useUnmountSignal } from '../../ui/unmount-signal';
import { type Cast, parseCast, type ShownLine, timeIn, transcriptOf } from './cast';
import { Playback } from './playback';

const speeds = [0.5, 1, 2, 4, 8];
/** Lines that are shown at first, and with each further press. */
const linesAtOnce = 500;

const pathOf = (id: string) => `/auth/v1/audit/recordings/${encodeURIComponent(id)}`;

export function RecordingPage({ id }: { id: string }) {
  const load = useLoad(`recording/${id}`, async (signal) => {
    const text = await (await call(pathOf(id), { signal })).text();
    return { text, cast: parseCast(text) };
  });
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('activity.recording.title')}</h1>
        <a href={href('/activity/recordings')}>{t('activity.recordings')}</a>
      </header>
      <Loaded load={load}>{({ text, cast }) => <Recorded key={id} id={id} text={text} cast={cast} />}</Loaded>
    </section>
  );
}

function Recorded({ id, text, cast }: { id: string; text: string; cast: Cast }) {
  const place = useRef<HTMLDivElement>(null);
  const playback = useSignal<Playback | undefined>(undefined);
  const signal = useUnmountSignal();
  useEffect(() => {
    let stop: (() => void) | undefined;
    void import('../../editors/terminal').then(({ startReplay }) => {
      if (signal.aborted || place.current === null) return;
      const view = startReplay(place.current, { columns: cast.width, rows: cast.height });
      const made = new Playback(cast, view);
      stop = () => {
        made.pause();
        view.stop();
      };
      playback.value = made;
    });
    return () => stop?.();
  }, []);
  return (
    <>
      <p>
        <bdi>{cast.title}</bdi>, <Ago since={cast.startedAt} />
      </p>
      {playback.value && <Controls playback={playback.value} cast={cast} />}
      {/* Screen readers get the text below. */}
      <div ref={place} class="replay" aria-hidden="true" />
      <div class="buttons">
        <Button icon={Download} onClick={() => saveAs(`${id}.cast`, new Blob([text], { type: 'application/x-asciicast' }))}>
          {t('activity.recording.save')}
        </Button>
      </div>
      <Transcript cast={cast} onSeek={(seconds) => playback.value?.seek(seconds)} />
    </>
  );
}

function Controls({ playback, cast }: { playback: Playback; cast: Cast }) {
  const { isPlaying, position, speed, skipsIdle } = playback;
  const time = t('activity.recording.time', { at: timeIn(position.value), of: timeIn(cast.seconds) });
  return (
    <div class="filters player">
      <Button kind="main" icon={isPlaying.value ? Pause : Play} onClick={() => playback.toggle()}>
        {t(isPlaying.value ? 'activity.recording.pause' : 'activity.recording.play')}
      </Button>
      <input
        type="range"
        aria-label={t('activity.recording.position')}
        aria-valuetext={time}
        min={0}
        max={Math.ceil(cast.seconds)}
        step={1}
        value={position.value}
        onInput={({ currentTarget }) => playback.seek(Number(currentTarget.value))}
      />
      <span class="muted" aria-hidden="true">
        {time}
      </span>
      <label>
        <span>{t('activity.recording.speed')}</span>{' '}
        <select
          value={speed.value}
          onChange={({ currentTarget }) => {
            speed.value = Number(currentTarget.value);
          }}
        >
          {speeds.map((one) => (
            <option key={one} value={one}>
              {one}×
            </option>
          ))}
        </select>
      </label>
      <label>
        <input
          type="checkbox"
          checked={skipsIdle.value}
          onChange={({ currentTarget }) => {
            skipsIdle.value = currentTarget.checked;
          }}
        />{' '}
        {t('activity.recording.skipIdle')}
      </label>
    </div>
  );
}

function Transcript({ cast, onSeek }: { cast: Cast; onSeek: (seconds: number) => void }) {
  const lines = useMemo(() => transcriptOf(cast.events), [cast]);
  const wanted = useSignal('');
  const shown = useSignal(linesAtOnce);
  const found = useComputed(() => {
    const word = wanted.value.toLowerCase();
    return word === '' ? lines : lines.filter(({ text }) => text.toLowerCase().includes(word));
  }).value;
  return (
    <section aria-label={t('activity.recording.text')}>
      <h2>{t('activity.recording.text')}</h2>
      <div class="filters">
        <input
          type="search"
          aria-label={t('activity.recording.find')}
          placeholder={t('activity.recording.find')}
          onInput={({ currentTarget }) => {
            wanted.value = currentTarget.value;
            shown.value = linesAtOnce;
          }}
        />
        <span class="muted" role="status">
          {t('activity.recording.lines', { count: found.length })}
        </span>
      </div>
      <Lines lines={found.slice(0, shown.value)} onSeek={onSeek} />
      {found.length > shown.value && (
        <div class="buttons">
          <Button
            onClick={() => {
              shown.value += linesAtOnce;
            }}
          >
            {t('activity.recording.more')}
          </Button>
        </div>
      )}
    </section>
  );
}

const Lines = ({ lines, onSeek }: { lines: readonly ShownLine[]; onSeek: (seconds: number) => void }) => (
  <ol class="transcript">
    {lines.map(({ seconds, text }, index) => (
      <li key={index}>
        <button
          type="button"
          class="button quiet"
          title={t('activity.recording.goTo', { time: timeIn(seconds) })}
          onClick={() => onSeek(seconds)}
        >
          {timeIn(seconds)}
        </button>
        <code>{text}</code>
      </li>
    ))}
  </ol>
);
