import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { ofNamespace, ofNode, ofObject, usageHistory, usageQuery } from './schema.ts';
import type { UsageService } from './service.ts';

const description =
  'Answers the last hour from `metrics.k8s.io` as this replica has measured it, and longer ranges from Prometheus with the rights of the caller. Missing measurements are `null`.';

const shared = {
  method: 'GET',
  tag: 'usage',
  description,
  credential: 'required',
  before: [compressed],
  query: usageQuery,
  answers: {
    200: { description: 'The points, oldest first.', content: { 'application/json': usageHistory } },
    400: { description: 'The service does not offer this range.' },
    403: { description: 'The caller may not list these metrics, or not use the Service of Prometheus.' },
    404: { description: 'The workload does not exist.' },
  },
} as const satisfies Partial<Operation>;

const metrics = (verb: string, resource: string, target: { namespace?: string; name?: string } = {}) => ({
  ...{ verb, group: 'metrics.k8s.io', resource },
  ...target,
});

export const usageOperations = (service: UsageService): Operation[] => [
  operation({
    ...shared,
    id: 'GetClusterUsage',
    paths: ['/api/v2/usage/nodes'],
    summary: 'Returns CPU and memory of all nodes over time, summed up',
    viewAs: () => metrics('list', 'nodes'),
    async handle({ ctx, caller, query, signal }) {
      ctx.body = await service.nodes({ range: query.range }, caller, signal);
    },
  }),
  operation({
    ...shared,
    id: 'GetNodeUsage',
    paths: ['/api/v2/usage/nodes/:name'],
    summary: 'Returns CPU and memory of a node over time',
    params: ofNode,
    viewAs: (_ctx, { name = '' }) => metrics('get', 'nodes', { name }),
    async handle({ ctx, caller, params, query, signal }) {
      ctx.body = await service.nodes({ ...params, range: query.range }, caller, signal);
    },
  }),
  operation({
    ...shared,
    id: 'GetNamespaceUsage',
    paths: ['/api/v2/usage/namespaces/:namespace'],
    summary: 'Returns CPU and memory of all pods of a namespace over time, summed up',
    params: ofNamespace,
    viewAs: (_ctx, { namespace = '' }) => metrics('list', 'pods', { namespace }),
    async handle({ ctx, caller, params, query, signal }) {
      ctx.body = await service.namespace(params.namespace, query.range, caller, signal);
    },
  }),
  operation({
    ...shared,
    id: 'GetObjectUsage',
    paths: ['/api/v2/usage/namespaces/:namespace/:resource/:name'],
    summary: 'Returns CPU and memory of a pod, or of all pods of a workload, over time',
    params: ofObject,
    viewAs: (_ctx, { namespace = '', resource, name = '' }) =>
      resource === 'pods' ? metrics('get', 'pods', { namespace, name }) : metrics('list', 'pods', { namespace }),
    async handle({ ctx, caller, params: { resource, name, namespace }, query: { range }, signal }) {
      ctx.body = await service.pods({ namespace, range, of: { resource, name } }, caller, signal);
    },
  }),
];
