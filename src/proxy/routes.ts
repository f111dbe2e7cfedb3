/** The Kubernetes API for its usual clients (docs/contract/kubernetes.md). The API server defines requests and answers. */
import type { Context } from 'koa';
import { z } from 'zod';
import type { Authenticator } from '../http/authenticator.ts';
import { type Operation, operation } from '../http/operation.ts';
import { withHeaders, withTimeout } from '../http/preparations.ts';
import type { Services } from '../services.ts';
import { safeHeaders } from './answer.ts';
import { KubernetesProxy, maxBodyBytes } from './kubernetes-proxy.ts';

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

/** The feature: its operations. No state is kept between requests. */
export function createProxy(services: Services, authenticator: Authenticator): { operations: Operation[] } {
  const proxy = new KubernetesProxy(services, authenticator);
  const operations = methods.map(({ method, id, ...offered }) =>
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
        passedOn: 'What the API server answers.',
        ...(!['GET', 'OPTIONS'].includes(method) && { body: { '*/*': z.unknown() } }),
      },
      bodyLimit: maxBodyBytes,
      ...(method !== 'OPTIONS' && { viewAs: (ctx: Context) => proxy.access(ctx) }),
      answers: {
        400: { description: 'a path that is not plain, or headers of a view that are not valid' },
        403: {
          description:
            'from another site, `readOnly`, the subresource `proxy`, or an access token that would make a credential or a right; or the API server says no',
        },
        404: { description: 'outside of `kubernetes.proxy.paths`; or the API server knows no such thing' },
      },
      handle: ({ ctx, caller, signal }) => proxy.answer(ctx, caller, signal),
    }),
  );
  return { operations };
}

const description =
  'Passed on byte for byte as the caller, up to 3 MiB: path, query and body go along, of the headers a list of harmless ones. Watches and followed logs last; exec, attach and port-forward are WebSocket upgrades of a GET.';
