import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

export const endpoints = ['discovery', 'jwks', 'par', 'authorize', 'token', 'userinfo', 'revocation', 'end_session'] as const;
export type Endpoint = (typeof endpoints)[number];

/** A request that the provider received; `elsewhere` stands for unknown paths. */
export interface SeenRequest {
  endpoint: Endpoint | 'elsewhere';
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Parameters of the query and of a form body. */
  parameters: URLSearchParams;
}

/** Answers a request. A function that does nothing accepts the request and never answers. */
export type Answer = (response: ServerResponse, request: SeenRequest) => void;

export const json =
  (code: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(code, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers }).end(JSON.stringify(body));
  };

/** Returns an error of RFC 6749 5.2. The description is a canary that must never be repeated. */
export const oauthError = (code: number, error: string): Answer => json(code, { error, error_description: providerText });

export const html =
  (code = 200): Answer =>
  (response) => {
    response.writeHead(code, { 'content-type': 'text/html' }).end(`<!doctype html><h1>${providerText}</h1>`);
  };

export const redirect =
  (code: number, location: string): Answer =>
  (response) => {
    response.writeHead(code, { location }).end();
  };

export const never: Answer = () => undefined;

export const hangUp: Answer = (response) => {
  response.socket?.destroy();
};

/** Returns JSON without end, sent as fast as it is read, up to `bytes`. */
export const endless =
  (bytes: number): Answer =>
  (response) => {
    const chunk = 'x'.repeat(64 * 1024);
    let left = bytes;
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"access_token":"');
    const send = () => {
      while (left > 0 && !response.destroyed) {
        left -= chunk.length;
        if (!response.write(chunk)) return void response.once('drain', send);
      }
      response.end('"}');
    };
    send();
  };

/** Canary in all texts that the provider words itself. */
export const providerText = 'provider-canary on host op-internal-7';
