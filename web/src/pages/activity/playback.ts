import { type Signal, signal } from '@preact/signals';
import type { ReplayView } from '../../editors/terminal';
import { type Cast, sizeIn } from './cast';

/** Interval of the steps while a recording plays. */
const stepMs = 50;
/** Seconds without output that are shown, where idle time is skipped. */
const shownIdle = 1;

/** Plays a recording on a terminal. */
export class Playback {
  readonly #cast: Cast;
  readonly #view: ReplayView;
  readonly position: Signal<number> = signal(0);
  readonly isPlaying: Signal<boolean> = signal(false);
  readonly speed: Signal<number> = signal(1);
  readonly skipsIdle: Signal<boolean> = signal(true);
  /** Index of the next event. */
  #next = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(cast: Cast, view: ReplayView) {
    this.#cast = cast;
    this.#view = view;
  }

  toggle(): void {
    if (this.isPlaying.value) this.pause();
    else this.#play();
  }

  pause(): void {
    clearInterval(this.#timer);
    this.isPlaying.value = false;
  }

  seek(seconds: number): void {
    if (seconds < this.position.value) {
      this.#next = 0;
      this.#view.clear({ columns: this.#cast.width, rows: this.#cast.height });
    }
    this.#showUntil(seconds);
  }

  #play(): void {
    if (this.position.value >= this.#cast.seconds) this.seek(0);
    this.isPlaying.value = true;
    let last = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.#step(((now - last) / 1000) * this.speed.value);
      last = now;
    }, stepMs);
  }

  #step(seconds: number): void {
    const next = this.#cast.events[this.#next]?.seconds;
    if (next === undefined) {
      this.pause();
      return;
    }
    const reached = this.position.value + seconds;
    this.#showUntil(this.skipsIdle.value ? Math.max(reached, next - shownIdle) : reached);
  }

  /** Writes the output up to a time at once. */
  #showUntil(seconds: number): void {
    const { events } = this.#cast;
    let text = '';
    for (; this.#next < events.length; this.#next += 1) {
      const event = events[this.#next];
      if (event === undefined || event.seconds > seconds) break;
      if (event.code === 'o') text += event.text;
      const size = event.code === 'r' ? sizeIn(event.text) : undefined;
      if (size === undefined) continue;
      this.#view.write(text);
      text = '';
      this.#view.resize(size);
    }
    if (text !== '') this.#view.write(text);
    this.position.value = Math.min(seconds, this.#cast.seconds);
  }
}
