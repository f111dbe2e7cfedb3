/** The subresource `scale`. Kubernetes API: autoscaling/v1 Scale. */
import { getObject } from './backend.ts';
import { builtin } from './builtins.ts';
import { bodyBytes, requiredObject, sendJson } from './exchange.ts';
import { isJsonObject, type JsonObject, type StoredObject, valueAt } from './objects.ts';
import { patchedObject } from './patch.ts';
import { writeContext } from './resource-verbs.ts';
import type { SubresourceAnswer } from './resources.ts';
import { decodeBody, updateObject } from './write.ts';

const scaleOf = ({ metadata, spec, status }: StoredObject) => {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const replicas = valueAt(spec, ['replicas']);
  const labels = valueAt(spec, ['selector', 'matchLabels']);
  const selector = Object.entries(isJsonObject(labels) ? labels : {}).map(([key, value]) => `${key}=${value}`);
  return {
    ...{ kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: { name, namespace, uid, resourceVersion, creationTimestamp } },
    // The API server leaves 0 out.
    spec: { ...(replicas !== 0 && { replicas }) },
    status: { replicas: valueAt(status, ['replicas']) ?? 0, selector: selector.join(',') },
  };
};

const scaleType = builtin('autoscaling/scales', 'Scale');

export const scale: SubresourceAnswer = {
  ...{ kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: ['get', 'patch', 'update'] },
  async answer(exchange, target) {
    const { backend, request, info } = exchange;
    const old = getObject(backend, target);
    if (info.verb === 'get') return sendJson(exchange, 200, scaleOf(old));
    const isPatch = info.verb === 'patch';
    const wanted = isPatch
      ? patchedObject(target.type, scaleOf(old), {
          contentType: request.headers['content-type'] ?? '',
          text: (await bodyBytes(exchange)).toString(),
        })
      : await requiredObject(exchange, 'Scale');
    const object = decodeBody(writeContext(exchange, 'UpdateOptions'), scaleType, wanted, isPatch);
    sendJson(exchange, 200, scaleOf(scaled(exchange, target, old, object)));
  },
};

function scaled(...[exchange, target, old, wanted]: [...Parameters<SubresourceAnswer['answer']>, StoredObject, JsonObject]): StoredObject {
  const replicas = valueAt(wanted, ['spec', 'replicas']) ?? 0;
  const version = valueAt(wanted, ['metadata', 'resourceVersion']);
  const metadata = { ...old.metadata, resourceVersion: typeof version === 'string' ? version : old.metadata.resourceVersion };
  const spec = { ...(old.spec as JsonObject), replicas };
  return updateObject(writeContext(exchange, 'UpdateOptions'), target, structuredClone({ ...old, metadata, spec })).object;
}
