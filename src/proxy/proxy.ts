import type { Config } from '../config/schema.ts';
import type { Audit } from '../http/audit.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { Operation } from '../http/operation.ts';
import type { KubernetesClient } from '../kubernetes/kubernetes-client.ts';
import { KubernetesProxy } from './kubernetes-proxy.ts';
import { proxyOperations } from './routes.ts';

export interface ProxyOptions {
  config: Pick<Config, 'kubernetes'>;
  basePath: string;
  apiServer: KubernetesClient;
  authenticator: Authenticator;
  audit: Audit;
}

/** The feature `proxy`: the Kubernetes API below `/api/kubernetes`. */
export const createProxy = ({ config, basePath, ...options }: ProxyOptions): { operations: Operation[] } => ({
  operations: proxyOperations(new KubernetesProxy({ ...options, rules: config.kubernetes.proxy, own: `${basePath}/api/kubernetes` })),
});
