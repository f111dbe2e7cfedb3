/**
 * Operations on the resources that the configuration names: lists with filters, order, pages, counts and live events, limited to the
 * objects that the caller may list. They are served from watch caches; whole objects are served by the Kubernetes API (`proxy`).
 */
import type { Context } from 'koa';
import { z } from 'zod';
import { isLive, type LiveParameters } from '../collection/live-list-answer.ts';
import { sendPage } from '../collection/page.ts';
import { listAnswer } from '../collection/schema.ts';
import { type AnswerDescription, type Caller, type Operation, operation } from '../http/operation.ts';
import { compressed, longRunning } from '../http/preparations.ts';
import { rowsApiVersion } from './listed-resource.ts';
import { offeredAnswer, rowsAnswer, rowsQuery } from './schema.ts';
import type { ListsService, Target } from './service.ts';

const segment = (what: string) => z.string().max(253).describe(what);

const ofResource = z.object({
  group: segment('API group; `core` for the core group.'),
  version: segment('API version.'),
  resource: segment('Plural of the resource.'),
});

const ofNamespace = ofResource.extend({ namespace: segment('Namespace.') });

const answers: Record<number, AnswerDescription> = {
  200: {
    ...listAnswer(rowsAnswer),
    description: 'The list, one page of it, the summary, or the events as `text/event-stream`.',
  },
  403: { description: 'The caller may not list the resource, in no namespace or not in this one.' },
  404: { description: 'The resource is not offered (`lists.resources`), or the API server does not know it.' },
  410: { description: '`continue` is older than an hour.' },
};

const description =
  'Shows what the caller may list: everything with the right in the cluster, otherwise the objects of those namespaces in which the caller has it. Totals and summaries are made of these alone. With `watch=true` and `Accept: text/event-stream`: events as of `ListUsers`, for those who may watch.';

interface Asked {
  target: Target;
  query: LiveParameters & { summary: string };
  caller: Caller;
  signal: AbortSignal;
}

export function listOperations(service: ListsService): Operation[] {
  const answer = async (ctx: Context, { target, query, caller, signal }: Asked) => {
    if (isLive(ctx)) return service.live(ctx, target, query, caller, signal);
    if (query.summary !== '') ctx.body = await service.summary(target, query.summary, query, caller, signal);
    else sendPage(ctx, await service.list(target, query, caller, signal));
  };
  const shared = {
    method: 'GET',
    tag: 'lists',
    description,
    credential: 'required',
    before: [compressed, longRunning(isLive)],
    query: rowsQuery,
    viewAs: (ctx, { group = '', resource = '', namespace }) => ({
      verb: isLive(ctx) ? 'watch' : 'list',
      group: group === 'core' ? '' : group,
      resource,
      ...(namespace !== undefined && { namespace }),
    }),
    answers,
  } as const satisfies Partial<Operation>;
  return [
    operation({
      id: 'ListOfferedResources',
      method: 'GET',
      paths: ['/api/v2/resources'],
      tag: 'lists',
      summary: 'Names the resources that are listed here, with their columns',
      description: 'What `lists.resources` names and the API server knows. It tells nothing of what the caller may list.',
      credential: 'required',
      before: [compressed],
      viewAs: () => ({ verb: 'get', path: '/apis' }),
      answers: { 200: { description: 'The resources, in the order of the setting.', content: { 'application/json': offeredAnswer } } },
      handle({ ctx }) {
        ctx.body = { apiVersion: rowsApiVersion, kind: 'OfferedResourceList', items: service.offered() };
      },
    }),
    operation({
      ...shared,
      id: 'ListResources',
      paths: ['/api/v2/resources/:group/:version/:resource'],
      summary: 'Lists, counts or follows the objects of a resource',
      params: ofResource,
      handle: ({ ctx, caller, params, query, signal }) => answer(ctx, { target: params, query, caller, signal }),
    }),
    operation({
      ...shared,
      id: 'ListNamespacedResources',
      paths: ['/api/v2/resources/:group/:version/:resource/namespaces/:namespace'],
      summary: 'Lists, counts or follows the objects of a resource in one namespace',
      params: ofNamespace,
      handle: ({ ctx, caller, params, query, signal }) => answer(ctx, { target: params, query, caller, signal }),
    }),
  ];
}
