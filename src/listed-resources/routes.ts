import type { Caller } from '@atrium/http/caller.ts';
import { type AnswerDescription, compressed, longRunning, type Operation, operation } from '@atrium/http/operation.ts';
import { isLive, type LiveParameters } from '@atrium/lists/live-list-answer.ts';
import { sendPage } from '@atrium/lists/page.ts';
import { listAnswer } from '@atrium/lists/schema.ts';
import type { Context } from 'koa';
import { z } from 'zod';
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
    description: 'The list, a page of it, the summary, or the events as `text/event-stream`.',
  },
  403: { description: 'The caller may not list the resource in any namespace, or not in this one.' },
  404: { description: 'The resource is not configured (`lists.resources`), or the API server does not serve it.' },
  410: { description: '`continue` is older than an hour.' },
};

const description =
  'Shows the objects that the caller may list: all objects with the right in the cluster, otherwise those of the namespaces with the right. Totals and summaries count these objects only. Sends events like `ListUsers` with `watch=true` and `Accept: text/event-stream`, to callers who may watch.';

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
      summary: 'Lists the resources that this service lists, with their columns',
      description: 'The resources of `lists.resources` that the API server serves, whether or not the caller may list them.',
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
