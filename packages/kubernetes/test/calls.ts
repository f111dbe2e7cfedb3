import type { ApiCall } from '@atrium/kubernetes/kubernetes-client.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { type Answer, forever, json } from './fake-api-server.ts';

export const get = (overrides: Partial<ApiCall> = {}): ApiCall => ({
  call: 'get configmaps',
  method: 'GET',
  path: '/api/v1/namespaces/shop/configmaps/logo',
  signal: forever(),
  ...overrides,
});
export const post = (overrides: Partial<ApiCall> = {}) => get({ method: 'POST', call: 'create configmaps', body: { a: 1 }, ...overrides });
export const ok: Answer = (_request, response) => json(response, 200, { fine: true });
export const reset: Answer = (_request, response) => response.destroy();

export function statusOf(error: unknown) {
  if (!(error instanceof StatusError)) throw error;
  return { code: error.status.code, reason: error.status.reason, headers: error.headers };
}
