/** The text of a log as it comes: lines as a terminal shows them, each once, though the stream begins again. */
import { shortened, shownOf, withoutUnfinished } from './terminal-line.ts';

/** With `timestamps=true` each line begins so. */
const stamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[-+]\d\d:\d\d) /;
/** Beyond it a line is cut in two: a stream without newlines must not fill the memory. */
const longestLine = 1_000_000;
/** A line without a newline is shortened when it has doubled since. */
const leastShortened = 2048;

interface Moment {
  /** The timestamp as the log writes it. */
  time: string;
  /** Texts of later moments are greater. */
  key: string;
  /** Number of lines with this time. */
  count: number;
}

/** Times may differ in zone and in digits. */
const keyOf = (seconds: string, fraction: string, zone: string): string => `${Date.parse(seconds + zone)}.${fraction.padEnd(9, '0')}`;

export interface LogLine {
  text: string;
  /** Missing in a line that the API server gave no timestamp. */
  time: string;
  /** Sorts lines by time. */
  key: string;
}

export class LogText {
  #decoder = new TextDecoder();
  #rest = '';
  /** Length of the rest when it was last shortened. */
  #shortened = 0;
  #last: Moment | undefined;
  /** Lines up to there have been taken before the stream began again. */
  #known: Moment | undefined;

  /** @returns the lines that are finished by it */
  add(data: ArrayBuffer): LogLine[] {
    const lines = (this.#rest + this.#decoder.decode(data, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    if (lines.length > 0) this.#shortened = 0;
    this.#forgetOverwritten();
    while (this.#rest.length > longestLine) {
      const end = /[\ud800-\udbff]/.test(this.#rest.charAt(longestLine - 1)) ? longestLine - 1 : longestLine;
      lines.push(this.#rest.slice(0, end));
      this.#rest = this.#rest.slice(end);
    }
    return lines.flatMap((line) => this.#take(line));
  }

  /** The beginning of a line that has no newline yet. */
  get unfinished(): string {
    const { text, moment } = parse(withoutUnfinished(this.#rest));
    return moment !== undefined && this.#known !== undefined && moment.key <= this.#known.key ? '' : text;
  }

  /** Ends the log. @returns the line without a newline */
  end(): LogLine[] {
    const rest = this.#rest + this.#decoder.decode();
    this.#rest = '';
    return rest === '' ? [] : this.#take(rest);
  }

  /** The stream begins again. @returns since when it is to be asked for; undefined if no line had a time */
  resume(): string | undefined {
    this.#decoder = new TextDecoder();
    this.#rest = '';
    this.#known = this.#last && { ...this.#last };
    return this.#last?.time;
  }

  #take(line: string): LogLine[] {
    const { text, moment } = parse(line);
    if (moment === undefined) return [{ text, time: '', key: this.#last?.key ?? '' }];
    if (this.#isKnown(moment)) return [];
    if (moment.key === this.#last?.key) this.#last.count += 1;
    else this.#last = moment;
    return [{ text, time: moment.time, key: moment.key }];
  }

  /** The API server asks by whole seconds, so that lines of that second come twice. */
  #isKnown({ key }: Moment): boolean {
    if (this.#known === undefined || key > this.#known.key) return false;
    if (key < this.#known.key) return true;
    this.#known.count -= 1;
    return this.#known.count >= 0;
  }

  /** A progress bar may draw itself for hours. */
  #forgetOverwritten(): void {
    if (this.#rest.length < 2 * Math.max(this.#shortened, leastShortened)) return;
    const [found = ''] = stamp.exec(this.#rest) ?? [];
    this.#rest = found + shortened(this.#rest.slice(found.length));
    this.#shortened = this.#rest.length;
  }
}

function parse(line: string): { text: string; moment: Moment | undefined } {
  const [found, seconds = '', fraction = '', zone = ''] = stamp.exec(line) ?? [];
  if (found === undefined) return { text: shownOf(line), moment: undefined };
  return { text: shownOf(line.slice(found.length)), moment: { time: found.trimEnd(), key: keyOf(seconds, fraction, zone), count: 1 } };
}
