import type { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { request } from 'undici';
import { forSuite } from '../../../test/support/for-suite.ts';
import { Trusting } from '../../../test/support/trusting.ts';

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Decoded JSON of the body, or its text. */
  body: unknown;
}

export interface Api {
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Starts a watch. @returns its lines, which resolve when the watch has ended */
  watch(path: string): Promise<{ told: Promise<string> }>;
  close(): Promise<void>;
}

/** Returns a client of an embedded cluster with one bearer token. Bytes and text are sent unchanged, all other bodies as JSON. */
export function apiOf(cluster: Pick<Cluster, 'url' | 'certificateAuthority'>, token: string): Api {
  const dispatcher = new Trusting(cluster.certificateAuthority);
  return {
    async send(method, path, body, headers = {}) {
      const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
      const answer = await request(new URL(path, cluster.url), {
        method,
        dispatcher,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        body: body === undefined ? null : isRaw ? body : JSON.stringify(body),
      });
      const text = await answer.body.text();
      const isJson = String(answer.headers['content-type']).includes('json');
      return { status: answer.statusCode, headers: answer.headers, body: isJson && !text.includes('}\n{') ? JSON.parse(text) : text };
    },
    async watch(path) {
      const { body } = await request(new URL(path, cluster.url), { dispatcher, headers: { authorization: `Bearer ${token}` } });
      const told = body.text();
      // The test decides whether a broken connection is a failure.
      told.catch(() => undefined);
      return { told };
    },
    close: () => dispatcher.close(),
  };
}

/** Returns a client with the rights of the administrator, for all tests of a `describe`. */
export const administrator = (cluster: Cluster): Api =>
  forSuite(
    async () => apiOf(cluster, await administratorToken(cluster)),
    (api) => api.close(),
  );

export const administratorToken = (cluster: Cluster) => cluster.issueToken({ username: 'admin', groups: ['system:masters'] });
