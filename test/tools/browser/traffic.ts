/** Requests of a page: their number, their size, and their dependencies. */
import { once } from 'node:events';
import type { Page, Request, Route } from 'playwright-core';

interface Sent {
  /** Method and address, such as `GET /path?query`. */
  line: string;
  /** Bytes over the network, with headers. */
  bytes: number;
  /** True if the answer is complete, or has begun for a watch. */
  isAnswered: boolean;
}

export class Traffic {
  readonly sent: Sent[] = [];
  readonly #answered = new EventTarget();

  private constructor() {}

  /** Listens to a page, whose requests bypass the cache of the browser. */
  static async of(page: Page): Promise<Traffic> {
    const session = await page.context().newCDPSession(page);
    const traffic = new Traffic();
    const running = new Map<string, Sent>();
    session.on('Network.requestWillBeSent', ({ requestId, request: { url, method } }) => {
      const { protocol, pathname, search } = new URL(url);
      if (!protocol.startsWith('http')) return;
      const sent = { line: `${method} ${pathname}${search}`, bytes: 0, isAnswered: false };
      running.set(requestId, sent);
      traffic.sent.push(sent);
    });
    session.on('Network.responseReceived', ({ requestId, response }) => {
      const sent = running.get(requestId);
      if (sent === undefined) return;
      sent.bytes = response.encodedDataLength;
      if (sent.line.includes('watch=true')) traffic.#note(sent);
    });
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const sent = running.get(requestId);
      if (sent === undefined) return;
      sent.bytes = encodedDataLength;
      traffic.#note(sent);
    });
    session.on('Network.loadingFailed', ({ requestId }) => {
      const sent = running.get(requestId);
      if (sent) traffic.#note(sent);
    });
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    return traffic;
  }

  get bytes(): number {
    return this.sent.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Returns the requests of an address, as `GET /path?query`. */
  matching(address: RegExp): string[] {
    return this.sent.map(({ line }) => line).filter((line) => address.test(line));
  }

  /** Resolves when each address was requested, and each request has its answer. */
  async until(...addresses: readonly RegExp[]): Promise<void> {
    const isSent = (address: RegExp) => this.matching(address).length > 0;
    while (!addresses.every(isSent) || !this.sent.every(({ isAnswered }) => isAnswered)) await once(this.#answered, 'answer');
  }

  #note(sent: Sent): void {
    sent.isAnswered = true;
    this.#answered.dispatchEvent(new Event('answer'));
  }

  /** Returns a line for each request. */
  toString(): string {
    return this.sent.map(({ line, bytes }) => `${bytes} ${line}`).join('\n');
  }
}

const lineOf = (request: Request): string => [request.url(), request.postData()].filter((part) => part !== null).join(' ');

/** Requests that are held until the test releases them. */
export class HeldRequests {
  readonly #page: Page;
  #waiting: Route[] = [];
  readonly #asked = new EventTarget();

  private constructor(page: Page) {
    this.#page = page;
  }

  /** Holds each request of the page from now on, except for those of the given addresses. */
  static async of(page: Page, letPass: RegExp = /(?!)/): Promise<HeldRequests> {
    const held = new HeldRequests(page);
    await page.route('**/*', (route) => {
      if (letPass.test(route.request().url())) return route.continue();
      held.#waiting.push(route);
      held.#asked.dispatchEvent(new Event('request'));
    });
    return held;
  }

  /** Resolves when a request of each address is held, while no held request is answered. A body follows its address after a space. */
  async untilAsked(...addresses: readonly RegExp[]): Promise<void> {
    const isAsked = (address: RegExp) => this.#waiting.some((route) => address.test(lineOf(route.request())));
    while (!addresses.every(isAsked)) await once(this.#asked, 'request');
  }

  /** Releases the held requests. Later ones are held. */
  async release(): Promise<void> {
    const routes = this.#waiting;
    this.#waiting = [];
    await Promise.all(routes.map((route) => route.continue()));
  }

  /** Releases all requests, also later ones. */
  async end(): Promise<void> {
    await this.#page.unrouteAll({ behavior: 'ignoreErrors' });
  }
}

/**
 * Holds the requests with a method and an address.
 *
 * @returns promise of the first one, and a function that lets them pass
 */
export async function hold(page: Page, method: string, address: RegExp): Promise<{ begun: Promise<void>; release: () => Promise<void> }> {
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(address, async (route) => {
    if (route.request().method() === method) {
      begun.resolve();
      await released.promise;
    }
    await route.fallback();
  });
  const release = async () => {
    released.resolve();
    await page.unroute(address);
  };
  return { begun: begun.promise, release };
}

/** Tries to close a dialog while its request is held: by Cancel, and by Escape as often as a browser may ignore it. */
export async function tryToClose(page: Page): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click({ force: true });
  for (let count = 0; count < 3; count += 1) await page.keyboard.press('Escape');
}

/** Counts the requests with a method and an address. The count waits for another request, and so includes reactions to the last answer. */
export function countOf(page: Page, method: string, address: RegExp): () => Promise<number> {
  let count = 0;
  page.on('request', (request) => {
    if (request.method() === method && address.test(request.url())) count += 1;
  });
  return async () => {
    await page.evaluate("fetch('/api/v1/modules').then((it) => it.text())");
    return count;
  };
}

/** Loses the answer to the first request with a method and an address: the service receives the request, and the page a timeout. */
export async function loseFirstAnswer(page: Page, method: string, address: RegExp): Promise<void> {
  let isLost = false;
  await page.route(address, async (route) => {
    if (isLost || route.request().method() !== method) return route.continue();
    isLost = true;
    await route.fetch();
    await route.fulfill({ status: 504, json: { kind: 'Status', code: 504, reason: 'Timeout', message: 'the answer was lost' } });
  });
}
