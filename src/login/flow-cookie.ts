import { timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import type { Seal } from '../keys/seal.ts';
import type { Services } from '../services.ts';
import { type Flow, flowSeconds, isCurrent, readFlow, writeFlow } from './flow.ts';

/** More logins at once than a person has tabs for, and less than what makes a request too large. */
const maxFlows = 5;
const maxBytes = 6 * 1024;

/** The cookies that hold the flows of one browser: one for each, named by its state, so that tabs do not disturb each other. */
export class FlowCookies {
  readonly #seal: Seal;
  readonly #now: () => Date;
  readonly #prefix: string;
  readonly #attributes: string;

  constructor({ config, keyRing, now }: Pick<Services, 'config' | 'keyRing' | 'now'>) {
    const isSecure = config.server.publicURL?.startsWith('https:') === true;
    this.#seal = keyRing.sealFor('flow');
    this.#now = now;
    // No other host of the domain can plant a cookie of this prefix, which asks for the path `/` (RFC 6265bis, 4.1.3.2).
    this.#prefix = `${isSecure ? '__Host-' : ''}atrium_flow_`;
    this.#attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  /** Gives the browser a flow; its oldest ones are expired where they are too many. @throws StatusError 503 while there is no key */
  set(ctx: Context, flow: Flow): void {
    const value = this.#seal.seal(writeFlow(flow));
    const name = this.#nameOf(flow.state);
    let bytes = name.length + value.length;
    // Browsers send the oldest first (RFC 6265 section 5.4).
    const others = this.#sent(ctx).filter((cookie) => cookie.name !== name);
    const kept = others.reverse().filter((cookie, newer) => {
      bytes += cookie.name.length + cookie.value.length;
      return newer < maxFlows - 1 && bytes <= maxBytes;
    });
    for (const cookie of others) if (!kept.includes(cookie)) this.#append(ctx, `${cookie.name}=`, 0);
    this.#append(ctx, `${name}=${value}`, flowSeconds);
  }

  /** The flow of that state, if this browser began it and it may still end. @throws StatusError 503 while there is no key */
  async find(ctx: Context, state: string): Promise<Flow | undefined> {
    const name = this.#nameOf(state);
    for (const cookie of this.#sent(ctx).slice(0, 2 * maxFlows)) {
      const text = cookie.name === name ? await this.#seal.open(cookie.value) : undefined;
      const flow = text === undefined ? undefined : readFlow(text);
      if (flow !== undefined && isEqual(flow.state, state) && isCurrent(flow, this.#now())) return flow;
    }
    return undefined;
  }

  expire(ctx: Context, state: string): void {
    this.#append(ctx, `${this.#nameOf(state)}=`, 0);
  }

  #nameOf(state: string): string {
    return this.#prefix + state.slice(0, 8);
  }

  #sent(ctx: Context): { name: string; value: string }[] {
    return ctx
      .get('Cookie')
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(this.#prefix) && pair.includes('='))
      .map((pair) => ({ name: pair.slice(0, pair.indexOf('=')), value: pair.slice(pair.indexOf('=') + 1) }));
  }

  #append(ctx: Context, pair: string, maxAge: number): void {
    ctx.append('Set-Cookie', `${pair}; ${this.#attributes}; Max-Age=${maxAge}`);
  }
}

/** States are 43 characters, but what was sealed may be of another version. */
const isEqual = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
