/**
 * Turns of watches at the connections of the browser. HTTP/1.1 allows six for a host, shared by all windows, and a page whose watches hold
 * them all could not even be left.
 */

const places = 3;
const turnMs = 2000;

let held = 0;
const queue: (() => void)[] = [];

/** Waits for a place. @throws DOMException AbortError if the caller no longer wants it */
function place(stop: AbortSignal): Promise<void> {
  stop.throwIfAborted();
  if (held < places) {
    held += 1;
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => {
    const take = () => {
      stop.removeEventListener('abort', leave);
      resolve();
    };
    const leave = () => {
      queue.splice(queue.indexOf(take), 1);
      reject(stop.reason);
    };
    queue.push(take);
    stop.addEventListener('abort', leave, { once: true });
  });
}

function release(): void {
  const next = queue.shift();
  if (next) next();
  else held -= 1;
}

/**
 * Runs a long request, and ends it after its turn while others wait.
 *
 * @returns the result of `run`; true if the request was ended, and may continue later
 */
export async function inTurn(stop: AbortSignal, run: (stop: AbortSignal) => Promise<boolean>): Promise<boolean> {
  await place(stop);
  const turn = new AbortController();
  const timer = setInterval(() => {
    if (queue.length > 0) turn.abort();
  }, turnMs);
  try {
    return await run(AbortSignal.any([stop, turn.signal]));
  } catch (error) {
    if (turn.signal.aborted && !stop.aborted) return true;
    throw error;
  } finally {
    clearInterval(timer);
    release();
  }
}
