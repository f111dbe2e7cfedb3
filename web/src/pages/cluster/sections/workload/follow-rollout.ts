/** Rollouts that this page of the browser has begun: their ends are told wherever the reader is by then. */

import { compareResourceVersions } from '@atrium/kubernetes/resource-version.ts';
import { rolloutOf } from '@atrium/objects/rollout.ts';
import { apiPath, type Kind } from '../../../../api/kinds';
import { isFinal } from '../../../../api/lost';
import type { ClusterObject, Metadata } from '../../../../api/objects';
import { watchObjects } from '../../../../api/watch-objects';
import { t } from '../../../../text/text';
import { toast } from '../../../../ui/toast';

const mostFollowed = 20;

/** Functions that end the watches, by the UID of the workload, the oldest first. */
const followed = new Map<string, () => void>();

/**
 * Follows a rollout to its end, and tells that it is done or stuck. Without the right to watch the workload, tells nothing.
 *
 * @param begun the workload, or its scale, as the API server has answered the change
 */
export function followRollout(kind: Kind, begun: { metadata: Metadata }): void {
  const { name, namespace, uid = '', resourceVersion = '' } = begun.metadata;
  const end = () => {
    followed.get(uid)?.();
    followed.delete(uid);
  };
  const isFollowed = () => followed.get(uid) === stop;
  end();
  if (followed.size >= mostFollowed) return;
  const stop = watchObjects<ClusterObject>({
    ...{ path: apiPath(kind, { namespace }), fieldSelector: `metadata.name=${name}`, resourceVersion: '', isFresh: true },
    onEvent({ type, object }) {
      if (!isFollowed()) return;
      if (type === 'DELETED' || object.metadata.uid !== uid) return end();
      // A replica of the API server may lag behind the one that answered.
      if ((compareResourceVersions(object.metadata.resourceVersion ?? '', resourceVersion) ?? 0) < 0) return;
      const { state, wanted, message } = rolloutOf(object);
      if (state === 'done') toast('ok', t('rollout.ended', { kind: kind.kind, name, count: wanted }));
      else if (state === 'stopped') toast('ok', t('rollout.endedAtNone', { kind: kind.kind, name }));
      else if (state === 'stuck') toast('bad', t('rollout.endedStuck', { kind: kind.kind, name, message }));
      else return;
      end();
    },
    onEnd: () => undefined,
    onProblem: (problem) => {
      if (problem !== undefined && isFinal(problem)) end();
    },
  });
  followed.set(uid, stop);
}
