/** A client of the documented interface alone: it uses no header, parameter or cookie name that is not documented. */
import { type Dispatcher, request } from 'undici';

export type Version = 'v1' | 'v2';

export interface Answer {
  status: number;
  contentType: string;
  body: unknown;
  bytes: Buffer;
}

interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The bearer token of the Authorization header. */
  bearer?: string | undefined;
  query?: Record<string, string>;
  body?: unknown;
}

export class DocumentedClient {
  readonly #base: string;
  readonly #dispatcher: Dispatcher | undefined;
  /** Cookies, kept like by any HTTP client, whatever their names are. */
  readonly #cookies = new Map<string, string>();

  /** @param base `{base_url}`, without a slash at its end */
  constructor(base: string, dispatcher?: Dispatcher) {
    this.#base = base;
    this.#dispatcher = dispatcher;
  }

  get cookieCount(): number {
    return this.#cookies.size;
  }

  async request(path: string, { method = 'GET', bearer, query = {}, body }: RequestOptions = {}): Promise<Answer> {
    const parameters = new URLSearchParams(query).toString();
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await request(`${this.#base}${path}${parameters && `?${parameters}`}`, {
      method,
      ...(this.#dispatcher && { dispatcher: this.#dispatcher }),
      headers: {
        ...(cookie && { cookie }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) this.#keep(line);
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    const contentType = String(answer.headers['content-type'] ?? '');
    const isJSON = contentType.startsWith('application/json') && bytes.length > 0;
    return { status: answer.statusCode, contentType, bytes, body: isJSON ? JSON.parse(bytes.toString()) : undefined };
  }

  login(version: Version): Promise<Answer> {
    return this.request(`/api/${version}/token/login`);
  }

  redirect(): Promise<Answer> {
    return this.request('/api/v2/token/redirect');
  }

  callback(version: Version, query: Partial<Record<'code' | 'state' | 'id_token', string>>): Promise<Answer> {
    return this.request(`/api/${version}/token/callback`, { query });
  }

  info(version: Version, bearer?: string): Promise<Answer> {
    return this.request(`/api/${version}/token/info`, { bearer });
  }

  refresh(version: Version, refreshToken: string): Promise<Answer> {
    return this.request(`/api/${version}/token/refresh`, { query: { refresh_token: refreshToken } });
  }

  logout(refreshToken: string): Promise<Answer> {
    return this.request('/api/v2/token/logout', { query: { refresh_token: refreshToken } });
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';');
    const [name = '', ...value] = pair.split('=');
    const isOver = attributes.some((attribute) => /^\s*(max-age=0|expires=thu, 01 jan 1970.*)$/i.test(attribute));
    if (isOver) this.#cookies.delete(name);
    else this.#cookies.set(name, value.join('='));
  }
}
