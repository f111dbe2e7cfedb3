import { timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import { CookieFamily } from '../cookies/cookie-family.ts';
import type { Seal } from '../keys/seal.ts';
import type { Services } from '../services.ts';
import { type Flow, flowSeconds, isCurrent, readFlow, writeFlow } from './flow.ts';

const maxBytes = 6 * 1024;

/** Flow cookies of a browser: one for each flow, named by its state. */
export class FlowCookies {
  readonly #cookies: CookieFamily;
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor({ cookies, keyRing, now }: Pick<Services, 'cookies' | 'keyRing' | 'now'>) {
    this.#cookies = new CookieFamily(cookies, { purpose: 'flow', maxBytes });
    this.#seal = keyRing.sealFor('flow');
    this.#now = now;
  }

  /** @throws StatusError 503 while there is no key */
  set(ctx: Context, flow: Flow): void {
    this.#cookies.set(ctx, memberOf(flow.state), this.#seal.seal(writeFlow(flow)), flowSeconds);
  }

  /** Returns the flow of the state, if this browser began it and it has not expired. @throws StatusError 503 while there is no key */
  async find(ctx: Context, state: string): Promise<Flow | undefined> {
    const sealed = this.#cookies.find(ctx, memberOf(state));
    const text = sealed && (await this.#seal.open(sealed));
    const flow = text ? readFlow(text) : undefined;
    return flow !== undefined && isEqual(flow.state, state) && isCurrent(flow, this.#now()) ? flow : undefined;
  }

  expire(ctx: Context, state: string): void {
    this.#cookies.expire(ctx, memberOf(state));
  }
}

const memberOf = (state: string) => state.slice(0, 8);

/** Compares states in constant time. Lengths can differ, because another version may have sealed the flow. */
const isEqual = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
