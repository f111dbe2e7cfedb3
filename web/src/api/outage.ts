/** Outages: the service is probed, the page tells of it once, and what failed meanwhile is repeated. */
import { signal } from '@preact/signals';
import { base } from './address';
import { pauseAfter } from './pause';
import { asProblem, isAbort, isPage, noAnswer, type Problem } from './problem';

/** Time since which the service does not answer. */
export const away = signal<Date>();

/** Pause between two probes of a service from which the page hears nothing, and while it owes an answer. */
const [idleMs, owedMs] = [20_000, 5000];
const silenceMs = 10_000;

const isSeen = (): boolean => document.visibilityState === 'visible';

let silent = new AbortController();
let owed = 0;
let missed = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let probing: Promise<boolean> | undefined;

/** Aborted once the service turns out to answer nothing. */
export const silence = (): AbortSignal => silent.signal;

function plan(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (isSeen()) void probe();
  }, ms);
}

/** Counts an answer that the page waits for. */
export function expectAnswer(): void {
  owed += 1;
  if (owed === 1 && missed === 0) plan(owedMs);
}

/** @param isThere whether the service itself answered; undefined if the page no longer waits */
export function endAnswer(isThere: boolean | undefined): void {
  owed -= 1;
  if (isThere) heard();
  else if (isThere === false) void probe();
}

function heard(): void {
  missed = 0;
  plan(owed > 0 ? owedMs : idleMs);
  if (away.peek() === undefined) return;
  away.value = undefined;
  retryNow();
}

/** Repeats at once what waits. */
export function retryNow(): void {
  for (const retry of [...waiting]) retry.wake();
}

/** Asks whether the service answers, by a request that concerns no right and no session. */
export function probe(): Promise<boolean> {
  probing ??= askVersion().then((isThere) => {
    probing = undefined;
    if (isThere) heard();
    else miss();
    return isThere;
  });
  return probing;
}

async function askVersion(): Promise<boolean> {
  try {
    const answer = await fetch(new URL('version', base), { cache: 'no-store', signal: AbortSignal.timeout(silenceMs) });
    // An unread body would keep its connection.
    await answer.arrayBuffer();
    return !isPage(answer) && ![502, 503, 504].includes(answer.status);
  } catch {
    return false;
  }
}

function miss(): void {
  missed += 1;
  plan(pauseAfter(missed));
  silent.abort(noAnswer());
  silent = new AbortController();
  // A replica that was replaced is missed once.
  if (missed > 1) away.value ??= new Date();
}

/**
 * Repeats what an outage stopped: after pauses that grow, while the page is seen, and at once when the service is back. A time that an answer
 * names is waited for.
 */
export class Retry {
  readonly #run: () => void;
  #failures: number;
  #earliest = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param failures failures before, which make the first pause longer */
  constructor(run: () => void, failures = 0) {
    this.#run = run;
    this.#failures = failures;
  }

  plan({ status, retryAfter = 0 }: Pick<Problem, 'status' | 'retryAfter'>): void {
    this.stop();
    if (status === 0) void probe();
    this.#failures += 1;
    this.#earliest = Date.now() + retryAfter * 1000;
    waiting.add(this);
    const due = () => {
      if (isSeen() && away.peek() === undefined) this.#begin();
    };
    this.#timer = setTimeout(due, Math.max(pauseAfter(this.#failures), retryAfter * 1000));
  }

  wake(): void {
    if (Date.now() >= this.#earliest) this.#begin();
  }

  #begin(): void {
    this.stop();
    this.#run();
  }

  succeeded(): void {
    this.stop();
    this.#failures = 0;
  }

  stop(): void {
    clearTimeout(this.#timer);
    waiting.delete(this);
  }
}

const waiting = new Set<Retry>();

document.addEventListener('visibilitychange', () => {
  if (!isSeen()) return;
  if (away.peek() !== undefined) void probe();
  else retryNow();
});
addEventListener('online', () => void probe());

/** Runs until it succeeds, as long as only outages stop it. @throws any other failure */
export function untilDone<T>(run: () => Promise<T>, onOutage: (problem: Problem) => void = () => undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const retry = new Retry(() => void attempt());
    const attempt = () =>
      run().then(resolve, (error: unknown) => {
        const problem = asProblem(error);
        if (isAbort(error) || !problem.isOutage) return reject(error);
        onOutage(problem);
        retry.plan(problem);
      });
    void attempt();
  });
}
