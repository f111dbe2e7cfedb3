/** Requests of a page: how many there are, and how large. */
import type { Page } from 'playwright-core';

interface Sent {
  /** `GET /path?query`. */
  line: string;
  /** Over the network, with headers. */
  bytes: number;
}

export class Traffic {
  readonly sent: Sent[] = [];

  private constructor() {}

  /** Listens to a page, whose requests bypass the cache of the browser. */
  static async of(page: Page): Promise<Traffic> {
    const session = await page.context().newCDPSession(page);
    const traffic = new Traffic();
    const running = new Map<string, Sent>();
    session.on('Network.requestWillBeSent', ({ requestId, request: { url, method } }) => {
      const { protocol, pathname, search } = new URL(url);
      if (!protocol.startsWith('http')) return;
      const sent = { line: `${method} ${pathname}${search}`, bytes: 0 };
      running.set(requestId, sent);
      traffic.sent.push(sent);
    });
    session.on('Network.responseReceived', ({ requestId, response }) => {
      const sent = running.get(requestId);
      if (sent) sent.bytes = response.encodedDataLength;
    });
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const sent = running.get(requestId);
      if (sent) sent.bytes = encodedDataLength;
    });
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    return traffic;
  }

  get bytes(): number {
    return this.sent.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Returns a line for each request. */
  toString(): string {
    return this.sent.map(({ line, bytes }) => `${bytes} ${line}`).join('\n');
  }
}
