import { Readable } from 'node:stream';
import type { CustomFetch } from 'openid-client';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { trustedAuthorities } from './authorities.ts';
import { CommandError, type Terminal } from './terminal.ts';

const timeoutMs = 10_000;
const maxBytes = 1024 * 1024;

/** Bound of each wait for a further part of a long answer. */
const partTimeoutMs = 60_000;

export interface IssuerFetch {
  fetch: CustomFetch;
  /** Reads an answer of any size in parts. */
  read(url: string, headers: Record<string, string>): Promise<{ status: number; body: AsyncIterable<Uint8Array> }>;
  close(): Promise<void>;
}

/**
 * Requests to the issuer, for openid-client. They use the proxies of the environment, follow no redirect, accept answers of at most 1 MiB,
 * and time out after ten seconds. Trusted authorities are those of Node, those of the system, as in kubectl, and the given one (PEM).
 */
export function issuerFetch({ environment, signal }: Terminal, certificateAuthority?: string): IssuerFetch {
  const named = (name: string) => environment[name.toLowerCase()] ?? environment[name];
  const ca = [...new Set([...trustedAuthorities(environment), ...(certificateAuthority ? [certificateAuthority] : [])])];
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: named('HTTP_PROXY') ?? '',
    httpsProxy: named('HTTPS_PROXY') ?? '',
    noProxy: named('NO_PROXY') ?? '',
    headersTimeout: partTimeoutMs,
    bodyTimeout: partTimeoutMs,
    connect: { ca },
    requestTls: { ca },
    proxyTls: { ca },
  });
  return {
    async fetch(url, { method, headers, body }) {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const form = body instanceof URLSearchParams || typeof body === 'string' ? { body } : {};
      const answer = await fetch(url, { method, headers, ...form, redirect: 'manual', signal: bounded, dispatcher });
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of answer.body ?? []) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) throw new CommandError('the issuer gave an answer that is too large');
        chunks.push(chunk);
      }
      const hasNoBody = answer.status === 204 || answer.status === 304;
      // openid-client accepts only a Response of the runtime.
      return new Response(hasNoBody ? null : Buffer.concat(chunks), { status: answer.status, headers: Object.fromEntries(answer.headers) });
    },
    async read(url, headers) {
      const { status, body } = await fetch(url, { headers, redirect: 'manual', signal, dispatcher });
      return { status, body: body ?? Readable.from([]) };
    },
    // Requests in progress are of no use any more.
    close: () => dispatcher.destroy(),
  };
}
