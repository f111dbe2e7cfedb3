import { type Dispatcher, fetch, type Response } from 'undici';

interface Cookie {
  name: string;
  value: string;
  path: string;
}

export interface PageVisit {
  url: URL;
  response: Response;
  body: string;
}

interface BrowserOptions {
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** Dispatcher of the connections. */
  dispatcher?: Dispatcher;
  /** True if the browser stays at a page with notices. Default: it confirms them and continues. */
  staysAtNotices?: boolean;
  /** Browser with the same cookies: both are one browser, at two ports of a host. */
  sibling?: Browser;
}

/** A browser without scripts: it keeps cookies by their path, follows redirects within the issuer, and sends forms. */
export class Browser {
  readonly #address: string;
  readonly #replicas: readonly string[];
  readonly #cookies: Map<string, Cookie>;
  readonly #headers: Record<string, string>;
  readonly #dispatcher: Dispatcher | undefined;
  readonly #staysAtNotices: boolean;
  #turn = 0;

  /**
   * @param address origin of the issuer
   * @param replicas origins behind it, which get requests in turn
   */
  constructor(
    address: string,
    replicas: readonly string[],
    { headers = {}, dispatcher, staysAtNotices = false, sibling }: BrowserOptions = {},
  ) {
    this.#address = address;
    this.#replicas = replicas;
    this.#headers = headers;
    this.#dispatcher = dispatcher;
    this.#staysAtNotices = staysAtNotices;
    this.#cookies = sibling === undefined ? new Map() : sibling.#cookies;
  }

  get cookies(): readonly Cookie[] {
    return [...this.#cookies.values()];
  }

  get(url: string | URL): Promise<PageVisit> {
    return this.#visit(new URL(url), { method: 'GET' });
  }

  /** Sends the form of a page, with the button that has these fields. */
  submit({ url, body }: PageVisit, fields: Record<string, string>): Promise<PageVisit> {
    const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(body) ?? [];
    const hidden = [...body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
      ([, name = '', value = '']) => [name, value] as const,
    );
    const form = new URLSearchParams(Object.fromEntries([...hidden, ...Object.entries(fields)]));
    return this.#visit(new URL(action || url, url), { method: 'POST', body: form });
  }

  /** Follows redirects within the issuer, up to another answer or another origin. */
  async #visit(url: URL, init: { method: string; body?: URLSearchParams }): Promise<PageVisit> {
    const response = await this.#fetch(url, init);
    const location = response.headers.get('location');
    if (location === null) {
      const page = { url, response, body: await response.text() };
      const isNoticed = !this.#staysAtNotices && page.body.includes('name="noticed"');
      return isNoticed ? this.submit(page, { noticed: 'yes' }) : page;
    }
    await response.text();
    const next = new URL(location, url);
    const isWithin = next.origin === this.#address && /^(\/console|\/tools)?\/identity\//.test(next.pathname);
    return isWithin ? this.#visit(next, { method: 'GET' }) : { url: next, response, body: '' };
  }

  async #fetch(url: URL, { method, body }: { method: string; body?: URLSearchParams }): Promise<Response> {
    const origin = this.#replicas[this.#turn++ % this.#replicas.length] ?? url.origin;
    const cookies = this.cookies.filter(({ path }) => url.pathname === path || url.pathname.startsWith(`${path.replace(/\/$/, '')}/`));
    const response = await fetch(`${origin}${url.pathname}${url.search}`, {
      method,
      redirect: 'manual',
      headers: { ...this.#headers, accept: 'text/html', cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') },
      ...(body && { body }),
      ...(this.#dispatcher && { dispatcher: this.#dispatcher }),
    });
    for (const line of response.headers.getSetCookie()) this.keep(line);
    return response;
  }

  /** @param line value of `Set-Cookie` */
  keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const attribute = (name: string) => attributes.find((text) => text.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
    const cookie = { name: pair.slice(0, pair.indexOf('=')), value: pair.slice(pair.indexOf('=') + 1), path: attribute('path') ?? '/' };
    const key = `${cookie.path} ${cookie.name}`;
    const isOver = Date.parse(attribute('expires') ?? '9999') < Date.now();
    if (isOver) this.#cookies.delete(key);
    else this.#cookies.set(key, cookie);
  }
}
