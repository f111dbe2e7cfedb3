import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { api, bodyOf } from '../../api/client';
import { follow } from '../../api/live';
import { type Load, useLoad } from '../../api/load';
import { Lost } from '../../api/lost';
import { useFeature } from '../../api/version';
import type { AccessRequest } from '../../app/own-requests';

/** Loads a request, and loads it again after each change: a live list reports the change, without the rules of the role. */
export function useRequest(name: string): Load<AccessRequest> & { lost: ReadonlySignal<Date | undefined> } {
  const isLive = useFeature('watch');
  const load = useLoad(`requests/one/${name}`, (signal) =>
    bodyOf(api.GET('/auth/v1/accessrequests/{name}', { params: { path: { name } }, signal })),
  );
  const lost = useMemo(() => new Lost(), [name]);
  const generation = useSignal(0);
  const isKnown = load.data.value !== undefined && load.error.value?.isGone(name) !== true;
  useEffect(() => {
    if (!isLive || !isKnown) return;
    const query = new URLSearchParams({ watch: 'true', fieldSelector: `metadata.name=${name}` });
    const stop = follow<AccessRequest>({
      address: `auth/v1/accessrequests?${query}`,
      onEvent({ object }) {
        if (object.metadata.resourceVersion !== load.data.peek()?.metadata.resourceVersion) void load.reload();
      },
      onEnd() {
        void load.reload();
        generation.value += 1;
      },
      onLost: (isLost) => lost.set(isLost),
    });
    return () => {
      lost.end();
      stop();
    };
  }, [load, isLive, isKnown, generation.value]);
  return { ...load, lost: lost.since };
}
