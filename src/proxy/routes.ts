import { type Operation, operation, withHeaders, withTimeout } from '@atrium/http/operation.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { safeHeaders } from './answer.ts';
import { type KubernetesProxy, maxBodyBytes } from './kubernetes-proxy.ts';

const methods = [
  { method: 'GET', id: 'GetKubernetes', upgrade: 'websocket' },
  { method: 'POST', id: 'PostKubernetes', upgrade: 'spdy/3.1' },
  { method: 'PUT', id: 'PutKubernetes' },
  { method: 'PATCH', id: 'PatchKubernetes' },
  { method: 'DELETE', id: 'DeleteKubernetes' },
  { method: 'OPTIONS', id: 'OptionsKubernetes' },
] as const;

/** Bound of an answer, long enough for a large list to a slow reader. Readers that stop are disconnected earlier. */
const longestMs = 3_600_000;

export const proxyOperations = (proxy: KubernetesProxy): Operation[] =>
  methods.map(({ method, id, ...offered }) =>
    operation({
      id,
      method,
      ...offered,
      paths: ['/api/kubernetes/{*path}'],
      ignoredQuery: 'all',
      tag: 'kubernetes',
      summary: `${method} at the Kubernetes API`,
      description,
      credential: 'required',
      before: [withHeaders(safeHeaders), withTimeout(longestMs), proxy.prepare],
      described: {
        passedOn: 'The answer of the API server.',
        ...(!['GET', 'OPTIONS'].includes(method) && { body: { '*/*': z.unknown() } }),
      },
      bodyLimit: maxBodyBytes,
      ...(method !== 'OPTIONS' && { viewAs: (ctx: Context) => proxy.access(ctx) }),
      answers: {
        400: { description: 'The path is not in its normal form, or headers of an impersonation are invalid.' },
        403: {
          description:
            'The request comes from another site, changes something with `readOnly`, names the subresource `proxy`, or would create a credential or a right with an access token; or the API server denies it.',
        },
        404: { description: 'The path is not in `kubernetes.proxy.paths`, or the API server does not know it.' },
      },
      handle: ({ ctx, caller, signal }) => proxy.answer(ctx, caller, signal),
    }),
  );

const description =
  'Passes path, query, body (up to 3 MiB) and a list of harmless headers on, with the credential of the caller and without changes. Watches and followed logs have no deadline. A GET with a WebSocket upgrade serves exec, attach and port-forward.';
