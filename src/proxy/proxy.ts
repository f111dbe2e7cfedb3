/** The Kubernetes API for its usual clients (docs/contract/kubernetes.md). The API server defines requests and answers. */
import type { Authenticator } from '@atrium/http/authenticator.ts';
import type { Operation } from '@atrium/http/operation.ts';
import type { Services } from '../services.ts';
import { KubernetesProxy, type ProxyNeeds } from './kubernetes-proxy.ts';
import { proxyOperations } from './routes.ts';

/** Creates the feature. No state is kept between requests. */
export const createProxy = (services: Services, authenticator: Authenticator, needs: ProxyNeeds): { operations: Operation[] } => ({
  operations: proxyOperations(new KubernetesProxy(services, authenticator, needs)),
});
