import { getSetCookies } from 'undici';
import type { Answer, Keycloak } from './keycloak.ts';

/** A page of Keycloak, or the foreign address that it redirects to. */
export interface Page {
  url: URL;
  /** Undefined at a foreign address. */
  answer: Answer | undefined;
}

/** Browser of a user at Keycloak: keeps cookies, follows its redirects and submits its forms, without scripts. */
export class KeycloakBrowser {
  readonly #keycloak: Keycloak;
  readonly #cookies = new Map<string, string>();

  constructor(keycloak: Keycloak) {
    this.#keycloak = keycloak;
  }

  async get(url: string | URL, body?: URLSearchParams): Promise<Page> {
    const { origin } = new URL(this.#keycloak.relay.url);
    const here = new URL(url);
    if (here.origin !== origin) return { url: here, answer: undefined };
    const answer = await this.#keycloak.request(here, {
      method: body ? 'POST' : 'GET',
      headers: {
        accept: 'text/html',
        cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body: body?.toString() ?? null,
    });
    for (const { name, value, maxAge } of getSetCookies(answer.headers)) {
      if (maxAge === 0) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    return location === null ? { url: here, answer } : this.get(new URL(location, here));
  }

  /** Submits the form of a page. */
  submit({ url, answer }: Page, fields: Record<string, string>): Promise<Page> {
    const [form = ''] = /<form[\s\S]*?<\/form>/.exec(answer?.text ?? '') ?? [];
    const hidden = [...form.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([input]) => [
      attribute(input, 'name'),
      attribute(input, 'value'),
    ]);
    return this.get(new URL(attribute(form, 'action'), url), new URLSearchParams({ ...Object.fromEntries(hidden), ...fields }));
  }
}

/** Reports whether a page asks for a password. */
export const asksForPassword = ({ answer }: Page): boolean => answer?.text.includes('name="password"') ?? false;

const attribute = (html: string, name: string): string =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
